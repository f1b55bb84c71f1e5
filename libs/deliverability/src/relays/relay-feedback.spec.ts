import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { EnvironmentsQuery } from '#access';
import { newId, type ProjectScope, UnavailableError } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database, LinkTokens, loadConfig, OutgoingHttp, type OutgoingRequest, SecretBox } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { takenPort } from '#testing/programs/ports';
import type { PostedFeedback, ProviderEvent, TakenMail } from '#testing/relays/provider-sink';
import { snsPost } from '#testing/relays/ses';
import { snsCertificate } from '#testing/relays/sns-certificate';
import { standIns } from '#testing/relays/stand-ins';
import { ReportsService } from '../bounces/reports.service.js';
import { ReturnPaths } from '../bounces/return-path.js';
import { FeedbackEventsService, FeedbackMetrics } from './feedback-events.service.js';
import { kindRules, type RelayKind } from './kinds/kinds.js';
import { FeedbackAddresses, FeedbackDocuments, RelayFeedbackService } from './relay-feedback.service.js';
import { relaySecret } from './relay.js';

const SECRET = 'a secret of the tests, long enough for it';
const DEAD: ProviderEvent = { kind: 'bounce', said: '550 5.1.1 No such user' };
const NOW = new Date('2026-11-23T04:41:01Z');

/** Leads to a server of the test, whatever the host. */
class LocalHttp extends OutgoingHttp {
  constructor(private readonly port: number) {
    super({ addressesOf: () => Promise.resolve(['127.0.0.1']) });
  }

  override request({ url, ...request }: OutgoingRequest) {
    const { pathname, search } = new URL(url);
    return super.request({ ...request, url: `http://127.0.0.1:${this.port}${pathname}${search}` });
  }
}

describe('the feedback of a relay', () => {
  let test: TestDatabase;
  let database: Database;
  let scope: ProjectScope;
  let amazon: Server;
  let http: LocalHttp;
  let reports: ReportsService;
  let feedback: RelayFeedbackService;
  let addresses: FeedbackAddresses;
  const clock = new ManualClock(NOW);
  const registry = new Registry();
  const paths = new ReturnPaths(SECRET);
  const box = new SecretBox(SECRET);
  const asked: string[] = [];
  let isAway = false;
  let isElsewhere = false;
  let relays = 0;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 4,
      applicationName: 'spec',
      entities: [],
      clock,
    });
    scope = (await createProject(test)).live;
    amazon = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.statusCode = isAway ? 503 : isElsewhere ? 302 : 200;
      if (isElsewhere) response.setHeader('location', '/elsewhere');
      response.end(snsCertificate.cert);
    });
    http = new LocalHttp(await takenPort(amazon));
    const config = loadConfig({
      DATABASE_URL: test.url,
      TOKEN_SECRET: SECRET,
      MASTER_KEY: SECRET,
      NODE_ENV: 'test',
    });
    addresses = new FeedbackAddresses(new LinkTokens(SECRET), config);
    const environments = new EnvironmentsQuery(database);
    const metrics = new FeedbackMetrics(registry);
    reports = new ReportsService(database, environments, clock);
    feedback = new RelayFeedbackService(
      database,
      environments,
      addresses,
      box,
      new FeedbackDocuments(http, clock),
      new FeedbackEventsService(database, reports, paths, metrics),
      metrics,
      clock,
    );
  });
  beforeEach(async () => {
    asked.length = 0;
    await test.query('delete from platform.jobs');
  });
  afterAll(async () => {
    await http.close();
    await database.close();
    await test.drop();
    await new Promise((resolve) => amazon.close(resolve));
  });

  /** A relay with the stand-in's key; posts to its address. */
  async function relayOf(kind: RelayKind) {
    const [id, feedbackId] = [newId(), newId()];
    const keyBox = box.seal(standIns[kind].proof.key, relaySecret(scope));
    relays += 1;
    await test.query(
      `insert into deliverability.relays (environment_id, id, project_id, relay_key, name, kind, host, port, tls, options, streams,
         priority, weight, connections, signing, status, feedback_id, feedback_key_box, created_at, updated_at)
       values ($1, $2, $3, $4, 'x', $5, 'x.example', 25, 'REQUIRED', '{}', '{CAMPAIGN}', 1, 1, 1, 'OWN', 'ACTIVE', $6, $7, $8, $8)`,
      [scope.environmentId, id, scope.projectId, `SPEC-${relays}`, kind, feedbackId, keyBox, NOW],
    );
    const token = new LinkTokens(SECRET).sign({
      kind: 'feedback',
      environmentId: scope.environmentId,
      id: feedbackId,
      expiresAt: null,
    });
    const post = (request: Pick<PostedFeedback, 'headers' | 'body'>) =>
      feedback.receive({ path: addresses.pathOf(kind), token, request });
    const lastFeedbackAt = async () =>
      (
        await test.query<{ at: Date | null }>(
          'select last_feedback_at as at from deliverability.relays where id = $1',
          [id],
        )
      )[0]?.at;
    return { post, lastFeedbackAt };
  }

  const mailOf = (kind: RelayKind, deliveryId = newId()): TakenMail & { deliveryId: string } => {
    const token = paths.tokenOf({ environmentId: scope.environmentId, deliveryId });
    const headers = kindRules(kind).headersOf({
      token,
      stream: 'CAMPAIGN',
      options: { configurationSet: 'news' },
    });
    const raw = [...headers.map((field) => field.join(': ')), '', 'Hello'].join('\r\n');
    return { deliveryId, id: `id-${deliveryId}`, to: 'ada@example.com', raw: Buffer.from(raw) };
  };
  const sendgridPost = (mails: readonly TakenMail[], event: ProviderEvent) =>
    standIns.SENDGRID.post(
      mails.map((mail) => standIns.SENDGRID.eventOf(mail, event)),
      { signedAt: clock.now() },
    );
  const jobsOf = () =>
    test.query<{ name: string; payload: Record<string, unknown> }>(
      'select name, payload from platform.jobs order by id',
    );
  const counted = async (of: string) => {
    const lines = (await registry.metrics()).split('\n');
    return Number(
      lines
        .find((line) => line.includes(of))
        ?.split(' ')
        .at(-1) ?? 0,
    );
  };

  it('of SES is proved with a certificate that is asked for once', async () => {
    const { post } = await relayOf('SES');
    const mails = [mailOf('SES'), mailOf('SES'), mailOf('SES')];
    const outcomes = await Promise.all(mails.map((mail) => post(snsPost(standIns.SES.eventOf(mail, DEAD)))));
    expect(outcomes).toEqual(['taken', 'taken', 'taken']);
    expect(asked).toEqual([expect.stringMatching(/^\/SimpleNotificationService-\w+\.pem$/)]);
    const told = (await jobsOf()).flatMap(({ payload }) =>
      (payload['bounces'] as { deliveryId: string }[]).map(({ deliveryId }) => deliveryId),
    );
    expect(told.toSorted()).toEqual(mails.map(({ deliveryId }) => deliveryId).toSorted());
  });

  it('of SES confirms the subscription by itself', async () => {
    const { post } = await relayOf('SES');
    expect(await post(snsPost('You have chosen to subscribe.', { type: 'SubscriptionConfirmation' }))).toBe(
      'taken',
    );
    expect(asked.filter((path) => path.includes('ConfirmSubscription'))).toHaveLength(1);
  });

  it('waits to be posted again where the proof cannot be had, and is asked for anew then', async () => {
    const { post } = await relayOf('SES');
    clock.advance(25 * 60 * 60_000);
    const request = snsPost(standIns.SES.eventOf(mailOf('SES'), DEAD));
    isAway = true;
    await expect(post(request)).rejects.toThrow(UnavailableError);
    expect(await jobsOf()).toEqual([]);
    isAway = false;
    expect(await post(request)).toBe('taken');
    expect(asked).toHaveLength(2);
  });

  it.each(['Notification', 'SubscriptionConfirmation'] as const)(
    'of SES goes where Amazon serves it, and to no place that it redirects to (%s)',
    async (type) => {
      const { post } = await relayOf('SES');
      // The certificate of the one is not kept any more, that of the other is.
      clock.advance(type === 'Notification' ? 25 * 60 * 60_000 : 0);
      const request = snsPost(standIns.SES.eventOf(mailOf('SES'), DEAD), { type });
      if (type === 'SubscriptionConfirmation') await post(snsPost({}));
      asked.length = 0;
      isElsewhere = true;
      await expect(post(request)).rejects.toThrow(UnavailableError);
      isElsewhere = false;
      expect(asked).toEqual([
        expect.stringMatching(type === 'Notification' ? /\.pem$/ : /ConfirmSubscription/),
      ]);
      expect(await jobsOf()).toEqual([]);
    },
  );

  it('slows down no destination of the installation, whatever words it gives', async () => {
    const { post } = await relayOf('SENDGRID');
    const mail = mailOf('SENDGRID');
    await post(sendgridPost([mail], { kind: 'bounce', said: '550 5.7.1 Blocked for your reputation' }));
    const [event] = await jobsOf();
    expect(event?.payload).toEqual({ bounces: [{ deliveryId: mail.deliveryId, bounceClass: 'policy' }] });
  });

  it('is one transaction for a thousand events, and nothing the second time', async () => {
    const { post } = await relayOf('SENDGRID');
    const mails = Array.from({ length: 1_000 }, () => mailOf('SENDGRID'));
    const request = sendgridPost([...mails, ...mails.slice(0, 10)], DEAD);
    expect(await post(request)).toBe('taken');
    const kept = await test.query<{ xmin: string }>(
      'select xmin, excerpt from deliverability.reports where delivery_id = any($1)',
      [mails.map(({ deliveryId }) => deliveryId)],
    );
    expect(kept).toHaveLength(1_000);
    expect(new Set(kept.map(({ xmin }) => xmin)).size).toBe(1);
    expect(JSON.stringify(await jobsOf())).not.toContain('@');
    await test.query('delete from platform.jobs');
    expect(await post(request)).toBe('taken');
    expect(await jobsOf()).toEqual([]);
  });

  it('whose signature covers no event changes nothing when another event is put under it', async () => {
    const { post } = await relayOf('MAILGUN');
    const [told, forged] = [mailOf('MAILGUN'), mailOf('MAILGUN')];
    const seen = standIns.MAILGUN.post(standIns.MAILGUN.eventOf(told, { kind: 'delivered' }), {
      signedAt: clock.now(),
    });
    const signature = (JSON.parse(seen.body.toString()) as { signature: object }).signature;
    const body = Buffer.from(
      JSON.stringify({ signature, 'event-data': standIns.MAILGUN.eventOf(forged, DEAD) }),
    );
    for (const request of [seen, { ...seen, body }]) expect(await post(request)).toBe('taken');
    expect(await jobsOf()).toEqual([]);
    const rows = () => test.query('select 1 from deliverability.feedback_tokens');
    expect(await rows()).toHaveLength(1);
    clock.advance(10 * 60 * 60_000);
    await reports.removeOld();
    expect(await rows()).toEqual([]);
  });

  it('that names its mail by the provider’s id alone is told without an address', async () => {
    const { post } = await relayOf('SENDGRID');
    const mail = { ...mailOf('SENDGRID'), raw: Buffer.from('Subject: x\r\n\r\nHello') };
    await post(sendgridPost([mail, mail], DEAD));
    const [event, ...others] = await jobsOf();
    expect(others).toEqual([]);
    expect(event?.payload['reports']).toMatchObject([{ messageId: expect.any(String) }, {}]);
    expect(JSON.stringify(event)).not.toContain('@');
  });

  it('is shown by its relay, and written once in ten seconds', async () => {
    const { post, lastFeedbackAt } = await relayOf('SENDGRID');
    const start = clock.now().getTime();
    expect(await lastFeedbackAt()).toBeNull();
    for (const [after, shown] of [
      [0, 0],
      [9_000, 0],
      [1_000, 10_000],
    ] as const) {
      clock.advance(after);
      await post(sendgridPost([], DEAD));
      expect((await lastFeedbackAt())?.getTime()).toBe(start + shown);
    }
  });

  it('with a wrong proof leaves nothing but a count', async () => {
    const { post, lastFeedbackAt } = await relayOf('SENDGRID');
    const before = await counted('mailwright_feedback_refused_total{kind="SENDGRID"}');
    const mail = mailOf('SENDGRID');
    const { headers } = sendgridPost([mail], DEAD);
    const { body } = sendgridPost([mail], { kind: 'complaint' });
    expect(await post({ headers, body })).toBe('no-proof');
    expect(await counted('mailwright_feedback_refused_total{kind="SENDGRID"}')).toBe(before + 1);
    expect([await jobsOf(), await lastFeedbackAt()]).toEqual([[], null]);
  });

  it('about another project’s mail, or about nobody’s, is counted and left alone', async () => {
    const { post } = await relayOf('SENDGRID');
    const of = (result: string) =>
      counted(`mailwright_feedback_events_total{kind="SENDGRID",result="${result}"}`);
    const before = await Promise.all(['foreign', 'delivered'].map(of));
    const token = paths.tokenOf({ environmentId: scope.environmentId + 1, deliveryId: newId() });
    const own = kindRules('SENDGRID').headersOf({ token, stream: 'CAMPAIGN', options: {} });
    const foreign = {
      ...mailOf('SENDGRID'),
      raw: Buffer.from(`${own.map((field) => field.join(': ')).join('\r\n')}\r\n\r\n`),
    };
    expect(await post(sendgridPost([foreign], DEAD))).toBe('taken');
    expect(await post(sendgridPost([mailOf('SENDGRID')], { kind: 'delivered' }))).toBe('taken');
    expect(await Promise.all(['foreign', 'delivered'].map(of))).toEqual(before.map((count) => count + 1));
    expect(await jobsOf()).toEqual([]);
  });
});
