import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import type { RecordToPublish } from '#testing/mail/published-records';
import { sharedDns } from '#testing/programs/shared-system-client';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';
import { type ToldEvent, WebhookReceiver } from '#testing/servers/webhook-receiver';

const ADA = 'ada@example.com';
const consent = { source: 'signup-form' };

/** Timestamps of the API: UTC with milliseconds. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('a program that listens to a project', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let receiver: WebhookReceiver;
  let client: ApiClient;
  let endpoint: Record<string, unknown>;
  let topicKey: string;
  let cli: (command: string, ...options: string[]) => Promise<Record<string, unknown>>;

  beforeAll(async () => {
    system = await sharedSystem();
    receiver = await WebhookReceiver.ofEvents();
    project = await system.project();
    client = await project.client('TEST');
    const which = ['--project', project.name, '--env', 'test'];
    cli = (command, ...options) => runCliForJson(system.variables, [command, ...which, ...options]);
    endpoint = await cli('webhook:create', '--url', receiver.url);
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('topicKey');
    await receiver.untilTold('suppression.added', (email) => client.post('/suppressions', { email }));
    await receiver.untilTold('import.completed', importOne);
  });

  afterAll(async () => {
    receiver?.close();
    await system?.stop();
  });

  /** The worker does it, and tells of it. */
  async function importOne(email: string): Promise<void> {
    const started = await client.post('/subscriber-imports', {
      rows: [{ email }],
      topicKeys: [topicKey],
      consent,
    });
    await eventually('the import', async () => {
      const read = await client.get(`/subscriber-imports/${started.at('id')}`);
      return read.at('status') === 'COMPLETED';
    });
  }

  function told(
    type: string,
    matches: (data: ToldEvent['data']) => boolean = () => true,
  ): Promise<ToldEvent> {
    return eventually(`${type} to be told`, () =>
      Promise.resolve(receiver.events.find((event) => event.type === type && matches(event.data)) ?? null),
    );
  }

  it('hears of a subscriber’s life, signed', async () => {
    const ofAda = ({ email }: ToldEvent['data']) => email === ADA;
    await client.patch(`/topics/${topicKey}`, { metadata: { list: '12' } });
    const metadata = { crmId: '4711' };
    const created = await client.post('/subscribers', {
      email: ADA,
      topicKeys: [topicKey],
      consent,
      metadata,
    });
    expect(created.status).toBe(201);
    expect((await told('subscriber.created', ofAda)).data).toMatchObject({
      id: created.at('id'),
      status: 'ACTIVE',
      metadata,
    });
    expect((await told('consent.granted', ofAda)).data).toMatchObject({
      topicKey,
      topicMetadata: { list: '12' },
      status: 'SUBSCRIBED',
    });
    const idOf = (type: string) =>
      receiver.ids[receiver.events.findIndex((event) => event.type === type)] ?? '';
    expect(idOf('subscriber.created') < idOf('consent.granted')).toBe(true);
    const changes = { firstName: 'Ada', locale: 'de-AT', timeZone: 'Europe/Vienna' };
    await client.patch(`/subscribers/${ADA}`, changes);
    expect((await told('subscriber.updated', ofAda)).data).toMatchObject({ ...changes, metadata });
    await client.delete(`/subscribers/${ADA}/consents/${topicKey}`);
    expect((await told('consent.revoked', ofAda)).data).toMatchObject({ topicKey, status: 'UNSUBSCRIBED' });
    await client.post('/suppressions', { email: ADA });
    const reason = 'GLOBAL_UNSUBSCRIBE';
    const added = await told('suppression.added', ofAda);
    expect(added.data).toMatchObject({ email: ADA, reason, streams: 'MARKETING' });
    for (let n = 0; n < 2; n += 1) await client.post('/suppressions', { email: ADA, reason: 'BLOCKED' });
    const widened = await told('suppression.added', (data) => ofAda(data) && data['streams'] === 'ALL');
    expect(widened.data).toEqual({ ...added.data, streams: 'ALL' });
    await client.delete(`/suppressions/${ADA}`, { headers: { 'x-confirm-unsuppress': 'true' } });
    await told('suppression.removed', ofAda);
    expect(
      receiver.events.filter(({ type, data }) => type === 'suppression.added' && ofAda(data)),
    ).toHaveLength(2);
    await client.delete(`/subscribers/${ADA}`);
    await told('subscriber.deleted', ({ id }) => id === created.at('id'));
    for (const { body, headers } of receiver.posts)
      new Webhook(String(endpoint['secret'])).verify(body, headers as Record<string, string>);
  });

  it('hears of double opt-in: pending, then confirmed', async () => {
    const offers = await client.post('/topics', { name: 'Offers', doubleOptInEnabled: true });
    const email = 'grace@example.com';
    await client.post('/subscribers', { email, topicKeys: [offers.at('topicKey')], consent });
    await told('consent.pending', (data) => data['email'] === email);
    const link = await eventually('the confirmation mail', async () => {
      const mails = await client.get(`/test-inbox/messages?to=${email}`);
      return mails.at<{ links: { confirm: string } }[]>('data')[0]?.links.confirm ?? null;
    });
    expect((await fetch(link, { method: 'POST' })).status).toBe(200);
    const { data } = await told('consent.confirmed', ({ email: heard }) => heard === email);
    expect(data).toMatchObject({ topicKey: offers.at('topicKey'), status: 'SUBSCRIBED' });
  });

  it('hears how a campaign goes', async () => {
    await client.post('/subscribers', { email: 'campaign@example.com', topicKeys: [topicKey], consent });
    const topic = await client.get(`/topics/${topicKey}`);
    const campaign = await client.post('/campaigns', {
      name: 'Spring',
      subject: 'Spring',
      contentText: 'It is spring. {{ links.unsubscribe }}',
      topicIds: [topic.at('id')],
      metadata: { costCentre: 'M-12' },
    });
    const campaignKey = campaign.at('campaignKey');
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    expect((await client.patch(`/campaigns/${campaignKey}`, { scheduledAt })).status).toBe(200);
    expect((await client.post(`/campaigns/${campaignKey}/schedule`)).status).toBe(200);
    // As if its time had come.
    await system.database.query('update messaging.campaigns set scheduled_at = now() where id = $1', [
      campaign.at('id'),
    ]);
    for (const step of ['scheduled', 'queued', 'sent'])
      await told(`campaign.${step}`, (data) => data['campaignKey'] === campaignKey);
    const sent = await told('campaign.sent', (data) => data['campaignKey'] === campaignKey);
    expect(sent.data).toMatchObject({
      status: 'SENT',
      name: 'Spring',
      metadata: { costCentre: 'M-12' },
    });
  });

  it('hears what becomes of mail, and what people do with it', async () => {
    const topic = await client.post('/topics', { name: 'Simulated', doubleOptInEnabled: false });
    for (const mailbox of ['opened', 'clicked', 'bounced', 'complained', 'unsubscribed']) {
      const email = `${mailbox}+hooks@example.com`;
      await client.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
    }
    const campaign = await client.post('/campaigns', {
      name: 'Mailboxes',
      subject: 'Mailboxes',
      contentJson: JSON.stringify({
        blocks: [{ type: 'button', label: 'Read', url: 'https://example.com/read?utm_source=mail' }],
      }),
      topicIds: [topic.at('id')],
      metadata: { costCentre: 'M-13' },
    });
    const campaignKey = campaign.at('campaignKey');
    expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
    const ofMailbox = (mailbox: string) => (data: ToldEvent['data']) =>
      data['campaignKey'] === campaignKey && data['email'] === `${mailbox}+hooks@example.com`;
    for (const mailbox of ['opened', 'clicked', 'complained'])
      expect((await told('email.sent', ofMailbox(mailbox))).data).toMatchObject({
        kind: 'CAMPAIGN',
        metadata: { costCentre: 'M-13' },
        automationKey: null,
        nodeId: null,
        sentAt: expect.stringMatching(TIMESTAMP),
      });
    expect((await told('email.opened', ofMailbox('opened'))).data['at']).toMatch(TIMESTAMP);
    expect((await told('email.clicked', ofMailbox('clicked'))).data).toMatchObject({
      url: 'https://example.com/read?utm_source=mail',
      linkNumber: 1,
      agent: 'simulator',
    });
    expect((await told('email.bounced', ofMailbox('bounced'))).data).toMatchObject({ bounceClass: 'hard' });
    await told('email.complained', ofMailbox('complained'));
    await told('email.unsubscribed', ofMailbox('unsubscribed'));
    const sent = receiver.events.filter(
      ({ type, data }) => type === 'email.sent' && ofMailbox('opened')(data),
    );
    expect(sent).toHaveLength(1);
    // No provider has said so.
    expect(receiver.events.filter(({ type }) => type === 'email.delivered')).toEqual([]);
  });

  it('hears what becomes of messages, of the mail to `to` alone', async () => {
    const send = async (to: string, more: object = {}) => {
      const message = { purpose: 'An order', subject: 'Receipt', text: 'Thank you.', ...more };
      const sent = await client.post('/messages', { to, ...message });
      expect(sent.status).toBe(202);
      return sent.at('id');
    };
    const of = (id: string) => (data: ToldEvent['data']) => data['messageId'] === id;
    const facts = { tags: ['receipt'], metadata: { order: '7' } };
    const id = await send('complained+message@example.com', { ...facts, cc: ['bounced+copy@example.com'] });
    const about = { messageId: id, to: 'complained+message@example.com', subscriberId: null, topicKey: null };
    expect((await told('message.sent', of(id))).data).toEqual({
      ...about,
      ...facts,
      sentAt: expect.stringMatching(TIMESTAMP),
      relayKey: null,
    });
    expect((await told('message.complained', of(id))).data).toEqual({ ...about, ...facts, relayKey: null });
    const bounced = await send('bounced+message@example.com');
    expect((await told('message.bounced', of(bounced))).data).toMatchObject({ bounceClass: 'hard' });
    const later = { scheduledAt: new Date(Date.now() + 3_600_000).toISOString() };
    const blocked = await send('blocked+message@example.com', later);
    await client.post('/suppressions', { email: 'blocked+message@example.com', reason: 'BLOCKED' });
    await client.patch(`/messages/${blocked}`, { scheduledAt: new Date().toISOString() });
    await told('message.suppressed', of(blocked));
    const late = await send('late+message@example.com', {
      ...later,
      expiresAt: new Date(Date.now() + 7_200_000).toISOString(),
    });
    // As if its time had come too late.
    await system.database.query(
      `with late as (update messaging.messages set expires_at = now() - interval '1 second' where id = $1)
       update messaging.deliveries set next_attempt_at = now() where id = $1`,
      [late],
    );
    expect((await told('message.failed', of(late))).data).toMatchObject({ reason: 'expired' });
    await told('suppression.added', (data) => data['email'] === 'bounced+copy@example.com');
    const types = (which: string) =>
      receiver.events.filter(({ data }) => of(which)(data)).map(({ type }) => type);
    expect(types(id).toSorted()).toEqual(['message.complained', 'message.sent']);
    expect(types(bounced).toSorted()).toEqual(['message.bounced', 'message.sent']);
    expect(types(blocked)).toEqual(['message.suppressed']);
    expect(receiver.events.filter(({ data }) => data['kind'] === 'MESSAGE')).toEqual([]);
  });

  it('hears of opens and clicks of messages that are tracked', async () => {
    const send = async (mailbox: string) => {
      const sent = await client.post('/messages', {
        to: `${mailbox}+looks@example.com`,
        purpose: 'An order',
        subject: 'Receipt',
        html: '<html><body><a href="https://shop.example/{{ data.order }}">Your order</a></body></html>',
        data: { order: '7' },
        tags: ['receipt'],
        metadata: { order: '7' },
        track: { opens: true, clicks: true },
      });
      expect(sent.status).toBe(202);
      return {
        messageId: sent.at('id'),
        to: `${mailbox}+looks@example.com`,
        subscriberId: null,
        topicKey: null,
        tags: ['receipt'],
        metadata: { order: '7' },
        at: expect.stringMatching(TIMESTAMP),
        agent: 'simulator',
      };
    };
    const [opened, clicked] = [await send('opened'), await send('clicked')];
    const of = (id: string) => (data: ToldEvent['data']) => data['messageId'] === id;
    expect((await told('message.opened', of(opened.messageId))).data).toEqual(opened);
    const link = { url: 'https://shop.example/7', linkNumber: 1 };
    expect((await told('message.clicked', of(clicked.messageId))).data).toEqual({ ...clicked, ...link });
  });

  it('hears which step of an automation sent a mail', async () => {
    const email = 'clicked+steps@example.com';
    await client.post('/subscribers', { email, topicKeys: [topicKey], consent });
    const automation = await client.post('/automations', { name: 'Steps', triggerType: 'manual' });
    const contentJson = JSON.stringify({
      blocks: [{ type: 'button', label: 'Read', url: 'https://example.com/step' }],
    });
    const content = {
      nodes: JSON.stringify([
        { id: 'start', type: 'trigger', config: {} },
        { id: 'hello', type: 'email', config: { subject: 'Hello', contentJson, topicKey } },
      ]),
      edges: JSON.stringify([{ id: 'first', source: 'start', target: 'hello' }]),
    };
    const path = `/automations/${automation.at('id')}`;
    expect((await client.patch(`${path}/content`, content)).status).toBe(200);
    expect((await client.post(`${path}/activate`)).status).toBe(200);
    expect((await client.post(`${path}/executions`, { email })).status).toBe(202);
    const step = {
      kind: 'AUTOMATION',
      automationKey: automation.at('automationKey'),
      nodeId: 'hello',
      campaignKey: null,
    };
    const ofIt = (data: ToldEvent['data']) => data['email'] === email;
    expect((await told('email.sent', ofIt)).data).toMatchObject(step);
    expect((await told('email.clicked', ofIt)).data).toMatchObject({
      ...step,
      url: 'https://example.com/step',
      linkNumber: 1,
    });
  });

  it('hears that an import is done, in one event', async () => {
    const started = await client.post('/subscriber-imports', {
      rows: [{ email: 'row-1@example.com' }, { email: 'nobody' }],
      topicKeys: [topicKey],
      consent,
    });
    const { data } = await told('import.completed', ({ id }) => id === started.at('id'));
    expect(data).toMatchObject({ status: 'COMPLETED', counts: { total: 2, created: 1, failed: 1 } });
    expect(receiver.events.filter(({ data: of }) => of['email'] === 'row-1@example.com')).toEqual([]);
  });

  it('hears that the sending domain is verified', async () => {
    await client.post('/sending-domain', { domainName: 'news.hooks.example' });
    const instructions = await client.get('/sending-domain/dns-instructions');
    await sharedDns.publish(instructions.at<RecordToPublish[]>('requiredRecords'));
    expect((await client.post('/sending-domain/verify-dns')).at('resultingStatus')).toBe('ACTIVE');
    expect((await told('domain.verified')).data).toMatchObject({ domainName: 'news.hooks.example' });
  });

  it('reads what it missed in the log, which has the same events in the order of their numbers', async () => {
    receiver.answer = () => 503;
    const before = receiver.posts.length;
    const emails = Array.from({ length: 8 }, (_, n) => `missed-${n}@example.com`);
    await Promise.all(
      emails.map((email) => client.post('/subscribers', { email, topicKeys: [topicKey], consent })),
    );
    await eventually('they are posted in vain', async () => receiver.posts.length >= before + 16);
    receiver.answer = () => 204;
    const seen: { id: string; sequence: number; type: string; data: { email?: string } }[] = [];
    const last = () => seen.at(-1)?.sequence ?? 0;
    for (let hasNext = true; hasNext;) {
      const page = await client.get(`/events?size=10&after=${last()}`);
      expect(page.status).toBe(200);
      seen.push(...page.at<typeof seen>('data'));
      hasNext = page.at('pagination', 'hasNext');
    }
    expect(seen.map(({ sequence }) => sequence)).toEqual(seen.map((_, index) => index + 1));
    const rows = await system.database.query<{ id: string }>(
      'select id from webhooks.events where environment_id = $1',
      [project.test.environmentId],
    );
    expect(new Set(seen.map(({ id }) => id))).toEqual(new Set(rows.map(({ id }) => id)));
    for (const email of emails)
      expect(seen.filter(({ data }) => data.email === email).map(({ type }) => type)).toEqual([
        'subscriber.created',
        'consent.granted',
      ]);
    for (const { body, headers } of receiver.posts) {
      const { sequence } = JSON.parse(body) as ToldEvent;
      expect([headers['webhook-id'], seen[sequence - 1]?.id]).toEqual([
        headers['webhook-id'],
        headers['webhook-id'],
      ]);
    }
    const ofType = await client.get('/events?type=subscriber.created&size=100');
    expect(ofType.at('pagination', 'totalElements')).toBe(ofType.at<unknown[]>('data').length);
    for (const [query, errors] of [
      ['type=subscriber.seen', { type: expect.stringContaining('must be one of subscriber.created') }],
      ['after=x', { after: 'must be an integer' }],
      ['after=-1', { after: 'must be at least 0' }],
      ['subscriberId=1', { subscriberId: 'must be a UUID' }],
    ] as const)
      expect((await client.get(`/events?${query}`)).at('errors')).toEqual(errors);
  });

  it('is not told of a change that was refused', async () => {
    const before = receiver.posts.length;
    expect(
      (await client.post('/subscribers', { email: 'x@example.com', topicKeys: ['APIT-999'], consent }))
        .status,
    ).toBe(422);
    await client.post('/suppressions', { email: 'after@example.com' });
    await told('suppression.added', ({ email }) => email === 'after@example.com');
    // A campaign of the tests before may still tell of its end.
    const ofPeople = receiver.events
      .slice(before)
      .filter(({ type }) => /^(?:subscriber|consent)\./.test(type));
    expect(ofPeople).toEqual([]);
  });

  it('is in the operator’s log, which can tell again', async () => {
    const rows = (await cli('webhook:log', '--id', String(endpoint['id']))) as unknown as {
      id: string;
      eventId: string;
    }[];
    expect(rows.length).toBeGreaterThan(0);
    const [newest] = rows;
    expect(await cli('webhook:replay', '--delivery', newest?.id ?? '')).toEqual({ replayed: 1 });
    await eventually('it to be told again', () =>
      Promise.resolve(receiver.ids.filter((id) => id === newest?.eventId).length === 2 || null),
    );
  });
});
