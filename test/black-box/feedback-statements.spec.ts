import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReturnPaths } from '../../libs/deliverability/src/bounces/return-path.js';
import { kindRules } from '../../libs/deliverability/src/relays/kinds/kinds.js';
import { newId } from '#kernel';
import { type LinkedMail, type LinkKind, LinkTokens, TrackingTokens } from '#platform';
import type { ApiClient } from '#testing/http/api-client';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { type PostgresWire, watchPostgres } from '#testing/postgres/postgres-wire';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { standIns } from '#testing/relays/stand-ins';
import { prepareProject, SECRETS, type SystemProject } from '#testing/programs/system';

const PAGE = readFileSync('docs/internals/performance.md', 'utf8');
/** The table of the page: what a reader or a provider does, and the statements of each transaction that follows. */
const TOLD = new Map(
  [...PAGE.matchAll(/^\| (An? [^|]+?) +\| ([\d, ]+?) +\|/gm)].map(([, what = '', statements]) => [
    what,
    statements,
  ]),
);
const FRAME = /^(begin|commit|rollback|set|select set_config)/;
const HUMAN = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/140.0' };

describe('the statements of feedback', () => {
  let test: TestDatabase;
  let wire: PostgresWire;
  let api: RunningProgram;
  let project: SystemProject;
  let client: ApiClient;
  let topic: { readonly topicKey: string; readonly id: string };
  let baseUrl: string;
  let feedbackUrl: string;

  beforeAll(async () => {
    test = await createTestDatabase();
    wire = await watchPostgres(test.url);
    const variables = { DATABASE_URL: wire.url, OUTGOING_PRIVATE_ADDRESSES: 'true', ...SECRETS };
    api = await startProgram('api', variables);
    baseUrl = `http://127.0.0.1:${api.port}`;
    project = await prepareProject(test, baseUrl);
    client = await project.client('LIVE');
    topic = (await client.post('/topics', { name: 'News', doubleOptInEnabled: true })).at();
    const { key } = standIns.POSTMARK.proof;
    const relay = { name: 'Postmark', kind: 'POSTMARK', host: '127.0.0.1', port: 587, feedbackKey: key };
    feedbackUrl = (await client.post('/relays', relay))
      .at('feedbackUrl')
      .replace(/^https?:\/\/[^/]+/, baseUrl);
    for (const [, act] of Object.entries(actions)) await act();
  });

  afterAll(async () => {
    await api.stop();
    await wire.close();
    await test.drop();
  });

  /** A reader, and the newest request to confirm the consent. */
  async function reader(): Promise<{
    readonly id: string;
    readonly email: string;
    readonly confirmationId: string;
  }> {
    const email = `reader-${newId()}@example.com`;
    const consent = { source: 'spec' };
    const made = await client.post('/subscribers', { email, topicKeys: [topic.topicKey], consent });
    const [row] = await test.query<{ id: string }>(
      'select id from audience.confirmations order by id desc limit 1',
    );
    return { id: made.at('id'), email, confirmationId: row!.id };
  }

  /** A mail of a campaign with one link, sent an hour ago. */
  async function mail(): Promise<{
    readonly id: string;
    readonly linked: LinkedMail;
    readonly address: string;
    readonly link: string;
    readonly pixel: string;
  }> {
    const { environmentId } = project.live;
    const { id: subscriberId, email, confirmationId } = await reader();
    await post(`/c/${tokenOf('confirm', confirmationId)}`);
    const draft = { name: 'May', subject: 'May', contentText: 'Hello', topicIds: [topic.id] };
    const campaignKey: string = (await client.post('/campaigns', draft)).at('campaignKey');
    const [row] = await test.query<{ id: string; campaign: string; day: string }>(
      `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
         message_id, state, next_attempt_at, sent_at, created_at, finished_at)
       select platform.new_id(), (now() at time zone 'UTC')::date, $1, 'CAMPAIGN', c.id, $2::uuid, $3, $3, '<' || $2::text || '@example.com>', 'SENT',
         now(), now() - interval '1 hour', now(), now()
       from messaging.campaigns c where c.campaign_key = $4
       returning id, source_id as campaign, queued_on::text as day`,
      [environmentId, subscriberId, email, campaignKey],
    );
    const tokens = new TrackingTokens(SECRETS.TOKEN_SECRET);
    const urls = ['https://acme.example/news'];
    const [set] = await test.query<{ id: string }>(
      `insert into messaging.link_sets (environment_id, campaign_id, queued_on, urls, signature, created_at)
       values ($1, $2, $3, $4, $5, now()) returning id`,
      [
        environmentId,
        row!.campaign,
        row!.day,
        urls,
        tokens.signTargets(`${environmentId}/${row!.campaign}/${row!.day}`, urls),
      ],
    );
    const [pixel, link] = tokens.sign({ environmentId, linkSet: Number(set!.id), deliveryId: row!.id }, 2);
    const linked = { subscriberId, aboutId: row!.campaign };
    return { id: row!.id, linked, address: email, link: `/l/${link}`, pixel: `/o/${pixel}` };
  }

  const tokenOf = (kind: LinkKind, id: string, linked?: LinkedMail) =>
    new LinkTokens(SECRETS.TOKEN_SECRET).sign({
      kind,
      environmentId: project.live.environmentId,
      id,
      expiresAt: null,
      ...(linked && { mail: linked }),
    });

  async function post(path: string, body = ''): Promise<void> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status } = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body });
    expect(status).toBe(200);
  }

  /** The event of a mail, as a provider posts it. */
  async function report(deliveryId: string, to: string, said: string): Promise<void> {
    const token = new ReturnPaths(SECRETS.TOKEN_SECRET).tokenOf({ ...project.live, deliveryId });
    const fields = kindRules('POSTMARK').headersOf({ token, stream: 'CAMPAIGN', options: {} });
    const raw = Buffer.from([...fields.map((field) => field.join(': ')), '', ''].join('\r\n'));
    const event = standIns.POSTMARK.eventOf({ id: newId(), to, raw }, { kind: 'bounce', said });
    const { headers, body } = standIns.POSTMARK.post(event, { signedAt: new Date() });
    expect((await fetch(feedbackUrl, { method: 'POST', headers, body: new Uint8Array(body) })).status).toBe(
      200,
    );
  }

  /** Resolves when the events of the mail are written. */
  async function follow(path: string, deliveryId: string): Promise<void> {
    wire.transactions();
    await fetch(`${baseUrl}${path}`, { headers: HUMAN, redirect: 'manual' });
    await eventually('it is written', async () => {
      const events = await test.query('select 1 from messaging.delivery_events where delivery_id = $1', [
        deliveryId,
      ]);
      return events.length > 0;
    });
  }

  const actions: Readonly<Record<string, () => Promise<unknown>>> = {
    'A bounce for good, by webhook': async () => {
      const { id, address } = await mail();
      wire.transactions();
      await report(id, address, '550 5.1.1 No such user here');
    },
    'A bounce of a full mailbox, by webhook': async () => {
      const { id, address } = await mail();
      wire.transactions();
      await report(id, address, '552 5.2.2 Mailbox full');
    },
    'A confirmation, by the button of the page': async () => {
      const { confirmationId } = await reader();
      wire.transactions();
      await post(`/c/${tokenOf('confirm', confirmationId)}`);
    },
    'A one-click unsubscription': async () => {
      const { id, linked } = await mail();
      wire.transactions();
      await post(`/u/${tokenOf('unsubscribe', id, linked)}`, 'List-Unsubscribe=One-Click');
    },
    'A click, the first of its mail': async () => {
      const { id, link } = await mail();
      await follow(link, id);
    },
    'An open, the first of its mail': async () => {
      const { id, pixel } = await mail();
      await follow(pixel, id);
    },
  };

  it.each(Object.entries(actions))('are as many as the page says: %s', async (what, act) => {
    await act();
    const sent = wire.transactions().map((messages) => messages.flat().filter((name) => !FRAME.test(name)));
    if (process.env['SHOW_MESSAGES'] !== undefined)
      process.stderr.write(`${what} ${JSON.stringify(sent, null, 1)}\n`);
    expect(sent.map((names) => names.length).join(', ')).toBe(TOLD.get(what));
  });

  it('are told of these actions alone', () => {
    expect([...TOLD.keys()]).toEqual(Object.keys(actions));
  });
});
