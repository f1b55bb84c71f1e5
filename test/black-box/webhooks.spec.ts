import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { ApiClient } from '#testing/api-client';
import { eventually } from '#testing/eventually';
import { runCliForJson } from '#testing/operator-cli';
import type { RecordToPublish } from '#testing/published-records';
import { sharedDns } from '#testing/shared-system-client';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/system';
import { type ToldEvent, WebhookReceiver } from '#testing/webhook-receiver';

const ADA = 'ada@example.com';
const consent = { source: 'signup-form' };

/** Of the API: UTC with milliseconds. */
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
    receiver = await WebhookReceiver.open();
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
    const created = await client.post('/subscribers', { email: ADA, topicKeys: [topicKey], consent });
    expect(created.status).toBe(201);
    expect((await told('subscriber.created', ofAda)).data).toMatchObject({
      id: created.at('id'),
      status: 'ACTIVE',
    });
    expect((await told('consent.granted', ofAda)).data).toMatchObject({ topicKey, status: 'SUBSCRIBED' });
    const idOf = (type: string) =>
      receiver.ids[receiver.events.findIndex((event) => event.type === type)] ?? '';
    expect(idOf('subscriber.created') < idOf('consent.granted')).toBe(true);
    const changes = { firstName: 'Ada', locale: 'de-AT', timeZone: 'Europe/Vienna' };
    await client.patch(`/subscribers/${ADA}`, changes);
    expect((await told('subscriber.updated', ofAda)).data).toMatchObject(changes);
    await client.delete(`/subscribers/${ADA}/consents/${topicKey}`);
    expect((await told('consent.revoked', ofAda)).data).toMatchObject({ topicKey, status: 'UNSUBSCRIBED' });
    await client.post('/suppressions', { email: ADA });
    expect((await told('suppression.added', ofAda)).data).toMatchObject({ reason: 'GLOBAL_UNSUBSCRIBE' });
    await client.delete(`/suppressions/${ADA}`, { headers: { 'x-confirm-unsuppress': 'true' } });
    await told('suppression.removed', ofAda);
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
    expect((await told('campaign.sent')).data).toMatchObject({ status: 'SENT', name: 'Spring' });
  });

  it('hears what becomes of mail, and what people do with it', async () => {
    const topic = await client.post('/topics', { name: 'Simulated', doubleOptInEnabled: false });
    for (const mailbox of ['opened', 'clicked', 'bounced', 'complained']) {
      const email = `${mailbox}+hooks@example.com`;
      await client.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
    }
    const campaign = await client.post('/campaigns', {
      name: 'Mailboxes',
      subject: 'Mailboxes',
      contentJson: JSON.stringify({
        blocks: [{ type: 'button', label: 'Read', url: 'https://example.com/read' }],
      }),
      topicIds: [topic.at('id')],
    });
    const campaignKey = campaign.at('campaignKey');
    expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
    const ofMailbox = (mailbox: string) => (data: ToldEvent['data']) =>
      data['campaignKey'] === campaignKey && data['email'] === `${mailbox}+hooks@example.com`;
    for (const mailbox of ['opened', 'clicked', 'complained'])
      expect((await told('email.delivered', ofMailbox(mailbox))).data).toMatchObject({
        kind: 'CAMPAIGN',
        sentAt: expect.stringMatching(TIMESTAMP),
      });
    expect((await told('email.opened', ofMailbox('opened'))).data['at']).toMatch(TIMESTAMP);
    expect((await told('email.clicked', ofMailbox('clicked'))).data).toMatchObject({ link: 1 });
    expect((await told('email.bounced', ofMailbox('bounced'))).data).toMatchObject({ bounceClass: 'hard' });
    await told('email.complained', ofMailbox('complained'));
    const delivered = receiver.events.filter(
      ({ type, data }) => type === 'email.delivered' && ofMailbox('opened')(data),
    );
    expect(delivered).toHaveLength(1);
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
