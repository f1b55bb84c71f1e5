import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LinkTokens } from '#platform';
import { ReturnPaths } from '../../libs/deliverability/src/bounces/return-path.js';
import { kindRules, RELAY_KINDS, type RelayKind } from '../../libs/deliverability/src/relays/kinds/kinds.js';
import { webhookHeaders } from '../../libs/platform/src/outgoing-http.js';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { problemIn } from '#testing/http/sample-api';
import type { PostedFeedback, ProviderEvent, TakenMail } from '#testing/relays/provider-sink';
import { prolongWindow } from '#testing/time/rate-limit-window';
import { standIns } from '#testing/relays/stand-ins';
import { allowLiveMail } from '#testing/fixtures/sending-domain';
import { SECRETS, type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';

const paths = new ReturnPaths(SECRETS.TOKEN_SECRET);
const DEAD: ProviderEvent = { kind: 'bounce', said: '550 5.1.1 No such user here' };
const JSON_TYPE = { 'content-type': 'application/json' };
const FULL: ProviderEvent = { kind: 'bounce', said: '552 5.2.2 Mailbox full' };

/**
 * SES's events are proved by a certificate of Amazon's: libs/deliverability/src/relays/relay-feedback.spec.ts.
 * Here are a signature over the body, one in it and a password; the proofs of the others are left to the full run.
 */
const KINDS = RELAY_KINDS.filter((kind) =>
  process.env['FULL'] === undefined ? ['SMTP', 'MAILGUN', 'POSTMARK'].includes(kind) : kind !== 'SES',
);

let system: SharedSystem;
let project: SystemProject;
let client: ApiClient;

beforeAll(async () => {
  system = await sharedSystem();
  project = await system.project();
  await allowLiveMail(system.database, project.live, 'feedback.example');
  client = await project.client('LIVE');
});
afterAll(() => system?.stop());

/** A campaign to new people, sent; the tokens of its mails. */
async function send(names: readonly string[]) {
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  const emails = names.map((name) => `${name}-${topic.at('topicKey').toLowerCase()}@example.com`);
  for (const email of emails) {
    const consent = { source: 'signup form' };
    await client.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
  }
  const draft = { name: 'May', subject: 'May', contentText: 'Hello', topicIds: [topic.at('id')] };
  const campaignKey: string = (await client.post('/campaigns', draft)).at('campaignKey');
  expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
  await eventually(
    'the campaign is sent',
    async () => (await client.get(`/campaigns/${campaignKey}`)).at('status') === 'SENT',
  );
  const deliveries = await system.database.query<{ id: string; address: string }>(
    `select d.id, d.address from messaging.deliveries d
     join messaging.campaigns c on c.id = d.source_id and c.environment_id = d.environment_id
     where c.campaign_key = $1 and c.environment_id = $2`,
    [campaignKey, project.live.environmentId],
  );
  const mails = emails.map((email) => {
    const { id: deliveryId } = deliveries.find(({ address }) => address === email)!;
    return { email, token: paths.tokenOf({ environmentId: project.live.environmentId, deliveryId }) };
  });
  return { campaignKey, mails };
}

const statistics = async (campaignKey: string) =>
  (await client.get(`/campaigns/${campaignKey}/report/statistics`)).body;
const statusOf = async (email: string) =>
  (await client.get(`/subscribers/${encodeURIComponent(email)}`)).at('status');

interface TestRelay {
  readonly relayKey: string;
  readonly feedbackUrl: string;
}

/** Without a key of its own it has the stand-in's. */
async function relayOf(
  kind: RelayKind,
  owner = client,
  feedbackKey: string | null = standIns[kind].proof.key,
  streams = ['TRANSACTIONAL'],
) {
  const created = await owner.post('/relays', {
    name: kind,
    kind,
    host: '127.0.0.1',
    port: 2525,
    // Nothing listens there: the mail goes by the installation's relay.
    streams,
    feedbackKey,
  });
  expect([created.status, created.text]).toEqual([201, expect.stringContaining('feedbackUrl')]);
  return created.body as TestRelay;
}

/** A mail as a provider has it that was handed our token in the headers of its kind. */
function mailOf(kind: RelayKind, token: string, to: string): TakenMail {
  const headers = kindRules(kind).headersOf({ token, stream: 'CAMPAIGN', options: {} });
  const raw = [...headers.map((field) => field.join(': ')), 'Message-ID: <1@shop.example>', '', 'Hello'];
  return { id: `id-${token.slice(-21)}`, to, raw: Buffer.from(raw.join('\r\n')) };
}

/** An event of a mail, posted now. The program that reads the log of a relay of one's own may hand the token on. */
function postOf(
  kind: RelayKind,
  [token, to]: readonly [string, string],
  event: ProviderEvent,
): PostedFeedback {
  const told = standIns[kind].eventOf(mailOf(kind, token, to), event);
  const named = kind === 'SMTP' ? { ...told, token } : told;
  return standIns[kind].post(named, { signedAt: new Date() });
}

const post = (url: string, { headers, body }: Pick<PostedFeedback, 'headers' | 'body'>) =>
  fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });

/** Without its headers, and where the proof is in the body, with another one. */
function unproved({ body }: PostedFeedback): Pick<PostedFeedback, 'headers' | 'body'> {
  const text = body.toString().replace(/"signature":"../, '"signature":"zz');
  return { headers: JSON_TYPE, body: Buffer.from(text) };
}

/** A live person's import, which the worker does and tells of. */
async function importOne(email: string): Promise<void> {
  const topic = await client.post('/topics', { name: 'Imported', doubleOptInEnabled: false });
  const consent = { source: 'signup form' };
  const started = await client.post('/subscriber-imports', {
    rows: [{ email }],
    topicKeys: [topic.at('topicKey')],
    consent,
  });
  await eventually(
    'the import',
    async () => (await client.get(`/subscriber-imports/${started.at('id')}`)).at('status') === 'COMPLETED',
  );
}

/** Hears of what becomes of the project's live mail. */
async function listener(): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.ofEvents();
  const which = ['--project', project.name, '--env', 'live', '--url', receiver.url];
  await runCliForJson(system.variables, [
    'webhook:create',
    ...which,
    '--events',
    'email.sent,email.delivered,suppression.added,import.completed',
  ]);
  await receiver.untilTold('suppression.added', (email) => client.post('/suppressions', { email }));
  // The worker hears of it by itself, and is the one to tell of mails.
  await receiver.untilTold('import.completed', importOne);
  return receiver;
}

describe.each(KINDS)('What a relay of the kind %s reports', (kind) => {
  let relay: TestRelay;

  beforeAll(async () => {
    relay = await relayOf(kind);
  });

  const report = async (token: string, email: string, event: ProviderEvent) => {
    const answer = await post(relay.feedbackUrl, postOf(kind, [token, email], event));
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  };

  it('is told when a mail arrived, once, apart from that it was sent', async () => {
    const receiver = await listener();
    try {
      const [fay] = (await send(['fay', 'gus'])).mails;
      for (const _ of [1, 2]) await report(fay!.token, fay!.email, { kind: 'delivered' });
      const told = (type: string) =>
        receiver.events.filter((event) => event.type === type).map(({ data }) => data['email']);
      await eventually('both events are told', async () =>
        told('email.sent').length === 2 && told('email.delivered').length > 0 ? true : null,
      );
      await receiver.untilTold('suppression.added', (email) => client.post('/suppressions', { email }));
      expect(told('email.delivered')).toEqual([fay!.email]);
    } finally {
      receiver.close();
    }
  });

  it('has the consequences of a report to the return path, once, however often and in which order it comes', async () => {
    const { campaignKey, mails } = await send(['ada', 'bob', 'cleo', 'dan', 'eve']);
    const [ada, bob, cleo, dan, eve] = mails;
    for (const _ of [1, 2]) {
      await report(ada!.token, ada!.email, DEAD);
      await report(bob!.token, bob!.email, FULL);
      await report(cleo!.token, cleo!.email, { kind: 'complaint' });
      await report(dan!.token, dan!.email, { kind: 'unsubscribed' });
      for (const { token, email } of mails) await report(token, email, { kind: 'delivered' });
    }
    await eventually('all of it is counted', async () => {
      const counted = (await statistics(campaignKey)) as Record<string, number>;
      return ['hardBounced', 'softBounced', 'spamComplaints', 'totalUnsubscribed'].every((of) => counted[of]);
    });
    expect(await statistics(campaignKey)).toMatchObject({
      totalSent: 5,
      hardBounced: 1,
      softBounced: 1,
      spamComplaints: 1,
      totalUnsubscribed: 1,
      totalDelivered: 3,
    });
    const statuses = await Promise.all([ada, bob, cleo, dan, eve].map((mail) => statusOf(mail!.email)));
    expect(statuses).toEqual(['BOUNCED', 'ACTIVE', 'COMPLAINED', 'UNSUBSCRIBED', 'ACTIVE']);
    expect((await client.get(`/relays/${relay.relayKey}`)).at('lastFeedbackAt')).not.toBeNull();
    const kept = await system.database.query<{ excerpt: string | null }>(
      'select excerpt from deliverability.reports where environment_id = $1',
      [project.live.environmentId],
    );
    expect(JSON.stringify(kept)).not.toMatch(/@|ada-/);
  });

  it('is refused with 401 when its proof is wrong, missing or of another relay, and changes nothing', async () => {
    const { campaignKey, mails } = await send(['fay', 'gus']);
    const [fay, gus] = mails;
    const right = postOf(kind, [fay!.token, fay!.email], DEAD);
    const ofAnotherKey = await relayOf(kind, client, standIns[kind].otherKey);
    const withoutKey = await relayOf(kind, client, null);
    const wrong = [
      await post(relay.feedbackUrl, unproved(right)),
      await post(relay.feedbackUrl, { headers: JSON_TYPE, body: Buffer.from('[') }),
      await post(relay.feedbackUrl, { headers: {}, body: Buffer.alloc(0) }),
      await post(ofAnotherKey.feedbackUrl, right),
      // Postmark signs nothing: there a password is asked for only where the owner has set one.
      ...(kind === 'POSTMARK' ? [] : [await post(withoutKey.feedbackUrl, right)]),
    ];
    expect(wrong.map(({ status }) => status)).toEqual(wrong.map(() => 401));
    expect(await problemIn(wrong[3]!)).toMatchObject({ type: expect.stringContaining('/unauthorized') });
    await report(gus!.token, gus!.email, DEAD);
    await eventually('Gus is bounced', async () => (await statusOf(gus!.email)) === 'BOUNCED');
    expect(await statistics(campaignKey)).toMatchObject({ hardBounced: 1 });
  });

  it('about a mail of another project, of nobody or without a name is taken and changes nothing', async () => {
    const { campaignKey, mails } = await send(['hal', 'ivy']);
    const stranger = await (await system.project()).client('LIVE');
    const strangers = await relayOf(kind, stranger);
    const [hal, ivy] = mails;
    const token = paths.tokenOf({ environmentId: project.live.environmentId, deliveryId: randomUUID() });
    for (const [url, named] of [
      [strangers.feedbackUrl, hal!.token],
      [relay.feedbackUrl, token],
      [relay.feedbackUrl, 'b+nobody.ofours'],
    ] as const) {
      expect((await post(url, postOf(kind, [named, hal!.email], DEAD))).status).toBe(200);
    }
    await report(ivy!.token, ivy!.email, DEAD);
    await eventually('Ivy is bounced', async () => (await statusOf(ivy!.email)) === 'BOUNCED');
    expect(await statusOf(hal!.email)).toBe('ACTIVE');
    expect(await statistics(campaignKey)).toMatchObject({ hardBounced: 1 });
  });
});

describe.each(KINDS)('Of a message, a relay of the kind %s reports', (kind) => {
  let sender: ApiClient;
  let scope: SystemProject['live'];
  let feedbackUrl: string;

  beforeAll(async () => {
    const other = await system.project();
    scope = other.live;
    await allowLiveMail(system.database, scope, `${kind.toLowerCase()}.feedback.example`);
    sender = await other.client('LIVE');
    ({ feedbackUrl } = await relayOf(kind, sender, undefined, ['TEST']));
  });

  it.each([
    [{ kind: 'delivered' }, 'DELIVERED', null],
    [DEAD, 'BOUNCED', 409],
    [{ kind: 'complaint' }, 'COMPLAINED', 409],
  ] as const)('%j: it is %s', async (event, status, again) => {
    const to = `${kind}-${event.kind}-${randomUUID()}@example.com`.toLowerCase();
    const message = { to, purpose: 'An order', subject: 'Receipt', text: 'Thank you.' };
    const id: string = (await sender.post('/messages', message)).at('id');
    const stateOf = async () => (await sender.get(`/messages/${id}`)).at('status');
    await eventually('it is sent', async () => (await stateOf()) === 'SENT');
    const token = paths.tokenOf({ environmentId: scope.environmentId, deliveryId: id });
    for (const _ of [1, 2])
      expect((await post(feedbackUrl, postOf(kind, [token, to], event))).status).toBe(200);
    await eventually(`it is ${status}`, async () => (await stateOf()) === status);
    if (again !== null) expect((await sender.post('/messages', message)).status).toBe(again);
  });
});

describe('An event that names its mail by the provider’s id alone', () => {
  const eventOf = (kind: RelayKind, id: string, to: string) => {
    const mail = { id, to, raw: Buffer.from('Subject: x\r\n\r\nHello') };
    return standIns[kind].post(standIns[kind].eventOf(mail, DEAD), { signedAt: new Date() });
  };
  /** As the reply of the relay left it. */
  const named = (id: string, token: string) =>
    system.database.query('update messaging.deliveries set provider_message_id = $1 where id = $2', [
      id,
      paths.readToken(token)?.deliveryId,
    ]);

  it('is about the mail that got the id, to that address where an id comes again', async () => {
    const own = await relayOf('SMTP');
    const sendgrid = await relayOf('SENDGRID');
    const { campaignKey, mails } = await send(['kim', 'leo', 'mia', 'ned']);
    const [kim, leo, mia, ned] = mails;
    for (const { token } of [kim!, leo!]) await named('4dF3vN0bqzz1k', token);
    await named('Xq9wVbWkQ8mHh3b8Zy1k2A', mia!.token);
    const outcomes = [
      await post(own.feedbackUrl, eventOf('SMTP', '4dF3vN0bqzz1k', leo!.email.toUpperCase())),
      await post(own.feedbackUrl, eventOf('SMTP', '4dF3vN0bqzz1k', 'somebody@example.com')),
      await post(own.feedbackUrl, eventOf('SMTP', 'unheardof', ned!.email)),
      // The reader has their mail forwarded.
      await post(
        sendgrid.feedbackUrl,
        eventOf('SENDGRID', 'Xq9wVbWkQ8mHh3b8Zy1k2A', 'mia@elsewhere.example'),
      ),
    ];
    expect(outcomes.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const { email } of [leo!, mia!])
      await eventually(`${email} is bounced`, async () => (await statusOf(email)) === 'BOUNCED');
    expect([await statusOf(kim!.email), await statusOf(ned!.email)]).toEqual(['ACTIVE', 'ACTIVE']);
    expect(await statistics(campaignKey)).toMatchObject({ hardBounced: 2 });
  });

  it('may come before the id is written down', async () => {
    const { feedbackUrl } = await relayOf('BREVO');
    const { mails } = await send(['ola', 'pat']);
    const [ola, pat] = mails;
    const id = '202611230500.10000000000@smtp-relay.mailin.fr';
    expect((await post(feedbackUrl, eventOf('BREVO', id, ola!.email))).status).toBe(200);
    expect((await post(feedbackUrl, postOf('BREVO', [pat!.token, pat!.email], DEAD))).status).toBe(200);
    await eventually('Pat is bounced', async () => (await statusOf(pat!.email)) === 'BOUNCED');
    expect(await statusOf(ola!.email)).toBe('ACTIVE');
    await named(id, ola!.token);
    await eventually('Ola is bounced', async () => (await statusOf(ola!.email)) === 'BOUNCED');
  });
});

describe('A feedback address', () => {
  const nothing = () => standIns.SMTP.post([], { signedAt: new Date() });
  const statusAt = async (url: string) => (await post(url, nothing())).status;

  it('is good until it is rotated or its relay deleted, also while the relay is paused, and for its own kind only', async () => {
    const { relayKey, feedbackUrl } = await relayOf('SMTP');
    expect(await statusAt(feedbackUrl)).toBe(200);
    expect((await client.patch(`/relays/${relayKey}`, { status: 'PAUSED' })).status).toBe(200);
    expect(await statusAt(feedbackUrl)).toBe(200);
    for (const other of ['ses', 'smtp', 'SENDGRID', 'nope', 'constructor'])
      expect([other, await statusAt(feedbackUrl.replace('generic', other))]).toEqual([other, 404]);
    const forged = feedbackUrl.replace(/..$/, (end) => (end === 'AA' ? 'BA' : 'AA'));
    expect(await statusAt(forged)).toBe(404);
    const rotated = await client.post(`/relays/${relayKey}/rotate-feedback-token`);
    expect(await statusAt(feedbackUrl)).toBe(404);
    const next = rotated.at('feedbackUrl');
    expect(await statusAt(next)).toBe(200);
    await client.delete(`/relays/${relayKey}`);
    const gone = await post(next, nothing());
    expect(await problemIn(gone)).toMatchObject({ status: 404, type: expect.stringContaining('/not-found') });
  });

  it('says what is wrong with a body: too large, packed, of another type, or not what the provider sends', async () => {
    const { feedbackUrl } = await relayOf('SMTP');
    const signed = (text: string) => {
      const headers = webhookHeaders([standIns.SMTP.proof.key], { id: 'msg_1', at: new Date(), body: text });
      return { headers: { ...JSON_TYPE, ...headers }, body: Buffer.from(text) };
    };
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const statuses = {
      large: (await post(feedbackUrl, { headers: JSON_TYPE, body: Buffer.alloc(1_048_577, ' ') })).status,
      packed: (
        await post(feedbackUrl, {
          headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
          body: Buffer.from('x'),
        })
      ).status,
      form: (
        await post(feedbackUrl, { headers: { 'content-type': 'application/xml' }, body: Buffer.from('x') })
      ).status,
      other: (await post(feedbackUrl, signed('{"event":[]}'))).status,
      cut: (await post(feedbackUrl, signed('{"events":['))).status,
      deep: (await post(feedbackUrl, signed(`{"events":[${deep}]}`))).status,
      alsoDeep: (await post(feedbackUrl, signed(deep))).status,
      prototype: (await post(feedbackUrl, signed('{"events":[{"__proto__":{"type":"bounce"}}]}'))).status,
    };
    expect(statuses).toEqual({
      large: 413,
      packed: 415,
      form: 415,
      other: 400,
      cut: 400,
      deep: 200,
      alsoDeep: 400,
      prototype: 200,
    });
  });

  it('takes so many posts a minute, each by itself; with made-up tokens a client gets no further than elsewhere', async () => {
    const api = await system.secondApi();
    const at = (url: string) => url.replace(/^https?:\/\/[^/]+/, api);
    const other = await (await system.project()).client('LIVE');
    const [one, two] = [await relayOf('SMTP', other), await relayOf('SMTP', other)];
    const answers = [await post(at(one.feedbackUrl), nothing())];
    const tokens = new LinkTokens(SECRETS.TOKEN_SECRET);
    await prolongWindow(
      system,
      `feedback:${tokens.verify(one.feedbackUrl.split('/').at(-1)!, 'feedback')!.id}`,
    );
    for (let n = 1; n < 4; n += 1) answers.push(await post(at(one.feedbackUrl), nothing()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(Number(answers[3]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await statusAt(at(two.feedbackUrl))).toBe(200);
    const postMadeUp = (n: number) => {
      const url = at(one.feedbackUrl).replace(/[^/]+$/, `${n}`.padStart(58, 'A'));
      return fetch(url, {
        method: 'POST',
        headers: { ...JSON_TYPE, 'x-forwarded-for': '10.9.8.7, 127.0.0.1' },
      });
    };
    const first = await postMadeUp(0);
    await prolongWindow(system, 'client:10.9.8.7');
    const others = Array.from({ length: 69 }, (_, n) => postMadeUp(n + 1));
    const madeUp = [first, ...(await Promise.all(others))];
    const refused = madeUp.filter(({ status }) => status === 429).length;
    expect([refused, madeUp.filter(({ status }) => status === 404).length]).toEqual([10, 60]);
  });
});
