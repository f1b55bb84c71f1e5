import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';

const HUMAN = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/140.0' };
const HYPATIA = 'hypatia@example.com';
const at = `/subscribers/${HYPATIA}`;
const LINK = 'https://acme.example/astrolabe?utm_source=mail';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Tables with rows about a person, and the list of the export that has them. */
const EXPORTED: Readonly<Record<string, string>> = {
  'audience.subscribers': 'subscriber',
  'audience.suppressions': 'suppression',
  'audience.consents': 'consents',
  'audience.consent_ledger': 'consentRecord',
  'audience.confirmations': 'confirmations',
  'audience.subscriber_events': 'events',
  'audience.segment_members': 'segments',
  'audience.field_changes': 'fieldChanges',
  'audience.import_errors': 'importErrors',
  'messaging.deliveries': 'deliveries',
  'messaging.delivery_events': 'deliveryEvents',
  'messaging.automation_runs': 'automationRuns',
  'messaging.messages': 'messages',
  'messaging.test_inbox_messages': 'testInbox',
  'webhooks.events': 'webhookEvents',
};

/** Tables with a column for a person that are not exported, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'audience.erased_addresses': 'holds a keyed hash of an address, and who has it now',
  'audience.frozen_audience_members': 'is gone when the campaign’s deliveries are there',
  'audience.import_rows': 'waits for the worker, which makes a subscriber of it',
  'audience.recorded_triggers': 'waits for the worker, which makes a run of it',
  'audience.segment_transitions': 'waits for those who follow a segment; the membership is exported',
  'audience.waiters': 'says what a run of an automation waits for; the run is exported',
  'audience.unsubscriptions': 'repeats consents of the record, for a day',
};

/** Columns of exported tables that say nothing about a person, or are told otherwise. */
const INTERNAL = new Set(
  `environmentId subscriberId topicId segmentId campaignId sourceId versionId automationNumber emailKey
   addressKey toKey firstNameKey lastNameKey subscriberStatus subscriberCreatedAt leaseToken leaseUntil
   leaseEpoch queuedOn nextAttemptAt dueSince singleEndedAt wakeAt isWaiting isCalling hasHappened linkSet sequence
   links sealedContent toDigest copyDigests usagePeriod attachmentsKey attachedBytes requestKey requestPlace templateContentId
   traceparent`.split(/\s+/),
);

/** Columns whose values are exported under another name. */
const RENAMED: Readonly<Record<string, string>> = {
  'consent_ledger.from_status': 'from',
  'consent_ledger.to_status': 'to',
  'confirmations.created_at': 'requestedAt',
  'confirmations.topic_ids': 'topicKeys',
  'import_errors.row_number': 'row',
  'deliveries.attempt': 'attempts',
  'automation_runs.attempts': 'steps',
  'automation_runs.position': 'steps',
  'messages.to_email': 'to',
  'test_inbox_messages.to_address': 'to',
  'test_inbox_messages.from_address': 'from',
  'test_inbox_messages.delivery_id': 'raw',
};

const contentOf = (url: string) => JSON.stringify({ blocks: [{ type: 'button', label: 'See', url }] });

describe('a person who was written to', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let receiver: WebhookReceiver;
  let environment: readonly string[];
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const [tenant] = await system.database.query<{ tenant_key: string }>(
      'select tenant_key from access.tenants where id = $1',
      [project.live.tenantId],
    );
    environment = ['--project', `${tenant?.tenant_key}/${project.projectKey}`, '--env', 'test'];
    receiver = await WebhookReceiver.ofEvents();
    await runCliForJson(system.variables, ['webhook:create', ...environment, '--url', receiver.url]);
    await receiver.untilKnown(client);
    await getToKnowHypatia();
  });
  afterAll(async () => {
    await system?.stop();
    receiver?.close();
  });

  /** She signs up, is changed, runs through an automation, gets a campaign, follows its link, orders. */
  async function getToKnowHypatia(): Promise<void> {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topicKey = topic.at('topicKey');
    await client.post('/custom-fields', { key: 'plan', displayName: 'Plan', type: 'TEXT' });
    const automation = await client.post('/automations', {
      name: 'Welcome',
      triggerType: 'subscriber_joins_list',
      triggerTopicId: topic.at('id'),
    });
    const graph = {
      nodes: JSON.stringify([
        { id: 'start', type: 'trigger', config: {} },
        { id: 'hello', type: 'email', config: { subject: 'Hello', contentJson: contentOf(LINK) } },
      ]),
      edges: JSON.stringify([{ id: 'on', source: 'start', target: 'hello' }]),
    };
    const path = `/automations/${automation.at('id')}`;
    expect((await client.patch(`${path}/content`, graph)).status).toBe(200);
    expect((await client.post(`${path}/activate`)).status).toBe(200);
    const consent = { source: 'shop', ipAddress: '203.0.113.9', userAgent: 'Browser/1' };
    const customFields = { plan: 'free' };
    const person = { email: HYPATIA, firstName: 'Hypatia', customFields, topicKeys: [topicKey], consent };
    expect((await client.post('/subscribers', person)).status).toBe(201);
    const offers = await client.post('/topics', { name: 'Offers', doubleOptInEnabled: true });
    await client.post(`${at}/consents`, { topicKey: offers.at('topicKey'), source: 'account' });
    const rows = [{ email: HYPATIA, lastName: 'x'.repeat(60) }];
    const refused = await client.post('/subscriber-imports', { rows, topicKeys: [topicKey], consent });
    const importPath = `/subscriber-imports/${refused.at('id')}`;
    await eventually(
      'the import ends',
      async () => (await client.get(importPath)).at('status') === 'COMPLETED',
    );
    const group = await client.post('/segments', { name: 'Astronomers', type: 'STATIC' });
    await client.post(`/segments/${group.at('segmentKey')}/members`, { emails: [HYPATIA] });
    await eventually(
      'the automation ends',
      async () => (await client.get(`${path}/executions`)).at('data', 0, 'status') === 'COMPLETED',
    );
    expect(
      (await client.patch(at, { lastName: 'of Alexandria', customFields: { plan: 'pro' } })).status,
    ).toBe(200);
    const campaign = await client.post('/campaigns', {
      name: 'Stars',
      subject: 'Stars',
      contentJson: contentOf(LINK),
      topicIds: [topicKey],
    });
    expect((await client.post(`/campaigns/${campaign.at('campaignKey')}/send`)).status).toBe(200);
    const inbox = await eventually('the campaign comes', async () => {
      const list = await client.get(`/test-inbox/messages?kind=CAMPAIGN&to=${HYPATIA}`);
      return list.at<unknown[]>('data').length === 1 ? list : null;
    });
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${campaign.at('campaignKey')}`)).at('status') === 'SENT',
    );
    await system.database.query(
      `update messaging.deliveries set sent_at = $2 where environment_id = $1 and kind = 'CAMPAIGN'`,
      [project.test.environmentId, new Date(Date.now() - 3_000)],
    );
    const raw = await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}/raw`);
    const { html = '' } = await PostalMime.parse(raw.text);
    const [, link = ''] = /href="([^"]*\/l\/[^"]*)"/.exec(html) ?? [];
    expect((await fetch(link, { redirect: 'manual', headers: HUMAN })).status).toBe(302);
    const message = {
      to: HYPATIA,
      purpose: 'She asked.',
      subject: 'Code',
      text: 'Code',
      tags: ['code'],
      keep: 'NOTHING',
    };
    expect((await client.post('/messages', { ...message, metadata: { a: 'b' } })).status).toBe(202);
    await client.post(`${at}/events`, { name: 'order', properties: { total: 7 } });
    await eventually('the click is told', async () =>
      (await client.get('/events?type=email.clicked')).at<unknown[]>('data').length > 0 ? true : null,
    );
  }

  const exported = async (): Promise<Record<string, unknown>> =>
    (await client.get(`${at}/export`)).body as Record<string, unknown>;

  describe('is exported', () => {
    it('as one document, with all that happened', async () => {
      const answer = await client.get(`${at}/export`);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'application/json; charset=utf-8',
      ]);
      expect(answer.headers.get('content-disposition')).toBe(
        `attachment; filename="subscriber-${answer.at('subscriber', 'id')}.json"`,
      );
      expect(answer.body).toMatchObject({
        subscriber: { email: HYPATIA, lastName: 'of Alexandria', customFields: { plan: 'pro' } },
        suppression: { suppressed: false },
        consents: [
          { topicKey, status: 'SUBSCRIBED' },
          { topicName: 'Offers', status: 'PENDING_CONFIRMATION' },
        ],
        consentRecord: [
          { to: 'SUBSCRIBED', ipAddress: '203.0.113.9', userAgent: 'Browser/1' },
          { to: 'PENDING_CONFIRMATION', source: 'account' },
        ],
        confirmations: [{ topicKeys: ['APIT-2'] }],
        events: [{ name: 'order', properties: { total: 7 } }],
        segments: [{ name: 'Astronomers' }],
        importErrors: [{ row: 1, email: HYPATIA, errors: { lastName: expect.any(String) } }],
        deliveries: expect.arrayContaining([
          expect.objectContaining({ kind: 'OPT_IN', state: 'SENT' }),
          expect.objectContaining({ kind: 'AUTOMATION', automationKey: 'APIT-1', state: 'SENT' }),
          expect.objectContaining({ campaignKey: 'APIT-001', state: 'SENT', opens: 1, clicks: 1 }),
        ]),
        deliveryEvents: expect.arrayContaining([expect.objectContaining({ type: 'CLICKED', url: LINK })]),
        automationRuns: [{ automationKey: 'APIT-1', status: 'COMPLETED', steps: expect.any(Array) }],
      });
      expect(answer.at<Rows>('webhookEvents').map(({ type }) => type)).toEqual(
        expect.arrayContaining(['subscriber.created', 'email.sent', 'email.clicked']),
      );
    });

    it('by any of their ids, and the same to the operator', async () => {
      const whole = await exported();
      const { id, subscriberKey } = whole['subscriber'] as { id: string; subscriberKey: string };
      for (const person of [id, subscriberKey])
        expect((await client.get(`/subscribers/${person}/export`)).body).toEqual(whole);
      expect(
        await runCliForJson(system.variables, ['subscriber:export', ...environment, '--email', HYPATIA]),
      ).toEqual(whole);
    });

    it('in the fields that are asked for', async () => {
      const some = await client.get(`${at}/export?fields=subscriber.email,events.name,events.properties`);
      expect(some.body).toEqual({
        subscriber: { email: HYPATIA },
        events: [{ name: 'order', properties: { total: 7 } }],
      });
      expectProblem(await client.get(`${at}/export?fields=events.nothing`), 422, 'domain-validation', {
        errors: { fields: '"events.nothing" is not a field of the answer' },
      });
    });

    it('whole, however long the lists are', async () => {
      const { id } = (await exported())['subscriber'] as { id: string };
      const quantity = 1_203;
      await system.database.query(
        `insert into audience.subscriber_events (id, environment_id, subscriber_id, name, properties, occurred_at, created_at)
         select platform.new_id(), $1, $2, 'seen.' || n % 3, '{}', date_trunc('second', now()), now() from generate_series(1, $3) n`,
        [project.test.environmentId, id, quantity],
      );
      const ids = ((await exported())['events'] as { id: string }[]).map((event) => event.id);
      expect([ids.length, new Set(ids).size]).toEqual([quantity + 1, quantity + 1]);
      await system.database.query(
        `delete from audience.subscriber_events where subscriber_id = $1 and name like 'seen.%'`,
        [id],
      );
    });

    it('from every table and column that knows them', async () => {
      const whole = await exported();
      const columns = await system.database.query<{ schema: string; table: string; column: string }>(
        `select n.nspname as schema, c.relname as table, a.attname as column
         from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
         where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
           and n.nspname in ('platform', 'access', 'audience', 'messaging', 'deliverability', 'billing', 'webhooks')`,
      );
      const ofPerson = columns.filter(({ column }) =>
        [
          'subscriber_id',
          'email',
          'email_key',
          'address',
          'address_key',
          'to_address',
          'to_key',
          'to_digest',
        ].includes(column),
      );
      const tables = [...new Set(ofPerson.map(({ schema, table }) => `${schema}.${table}`))];
      expect(tables.toSorted()).toEqual(Object.keys({ ...EXPORTED, ...LEFT_OUT }).toSorted());
      const missing = columns.flatMap(({ schema, table, column }) => {
        const list = EXPORTED[`${schema}.${table}`];
        if (list === undefined) return [];
        const name = column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
        const content = whole[list];
        const row = Array.isArray(content) ? (content as Rows)[0] : (content as Rows[number]);
        const isThere = (RENAMED[`${table}.${column}`] ?? name) in { ...row };
        return isThere || INTERNAL.has(name) ? [] : [`${table}.${column}`];
      });
      expect(missing).toEqual([]);
    });

    it('to nobody of another project, and when they are there alone', async () => {
      const other = await (await system.project()).client('TEST');
      const { id } = (await exported())['subscriber'] as { id: string };
      for (const person of [HYPATIA, id])
        expectProblem(await other.get(`/subscribers/${person}/export`), 404, 'not-found');
      await client.post('/suppressions', { email: 'gone@example.com' });
      expectProblem(await client.get('/subscribers/gone@example.com/export'), 404, 'not-found');
    });
  });

  describe('has activity', () => {
    interface Item {
      readonly id: string;
      readonly type: string;
      readonly timestamp: string;
      readonly data: Readonly<Record<string, unknown>>;
    }
    const activity = async (query = ''): Promise<readonly Item[]> =>
      (await client.get(`${at}/activity?size=100${query}`)).at('data');

    it('of every kind, newest first', async () => {
      const items = await activity();
      const times = items.map(({ timestamp }) => timestamp);
      expect(times).toEqual(times.toSorted().toReversed());
      expect(new Set(items.map(({ type }) => type))).toEqual(
        new Set([
          'subscriber.created',
          'subscriber.updated',
          'consent.granted',
          'consent.pending',
          'event.recorded',
          'email.sent',
          'email.clicked',
          'automation.entered',
          'automation.completed',
        ]),
      );
      expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
      const of = (type: string) => items.filter((item) => item.type === type).map(({ data }) => data);
      expect(of('subscriber.updated')).toEqual([
        {
          changes: {
            lastName: { from: null, to: 'of Alexandria' },
            'customFields.plan': { from: 'free', to: 'pro' },
          },
          actor: 'API_KEY',
          actorId: expect.any(String),
        },
      ]);
      expect(of('event.recorded')).toEqual([{ name: 'order', properties: { total: 7 }, uniqueId: null }]);
      expect(of('email.clicked')).toEqual([
        expect.objectContaining({ url: LINK, linkNumber: 1, campaignKey: 'APIT-001', email: HYPATIA }),
      ]);
      expect(of('email.sent')).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ kind: 'AUTOMATION', automationKey: 'APIT-1', nodeId: 'hello' }),
          expect.objectContaining({ kind: 'CAMPAIGN', campaignKey: 'APIT-001', automationKey: null }),
          expect.objectContaining({ kind: 'OPT_IN', campaignKey: null }),
        ]),
      );
      expect(of('consent.granted')).toEqual([
        expect.objectContaining({
          topicKey,
          topicName: 'News',
          from: null,
          to: 'SUBSCRIBED',
          actor: 'API_KEY',
        }),
      ]);
      expect(of('automation.completed')).toEqual([
        expect.objectContaining({ automationKey: 'APIT-1', outcome: 'completed' }),
      ]);
    });

    it('of one type, in fields that are asked for', async () => {
      const items = await activity();
      for (const type of new Set(items.map((item) => item.type))) {
        const own = await client.get(`${at}/activity?type=${type}`);
        expect(own.at('data')).toEqual(items.filter((item) => item.type === type));
        expect(own.at('pagination', 'totalElements')).toBe(own.at<unknown[]>('data').length);
      }
      expect(await activity('&type=email.complained')).toEqual([]);
      expect((await client.get(`${at}/activity?type=email.clicked&fields=type,data.url`)).at('data')).toEqual(
        [{ type: 'email.clicked', data: { url: LINK } }],
      );
      expectProblem(await client.get(`${at}/activity?type=nothing`), 400, 'validation-error', {
        errors: { type: expect.any(String) },
      });
    });

    it('page by page, none twice and none left out while more comes', async () => {
      const known = (await activity()).map(({ id }) => id);
      // Many at one moment, before all that is known.
      const past = '2026-01-05T10:00:00.000Z';
      const events = Array.from({ length: 7 }, (_, n) => ({
        email: HYPATIA,
        name: `past.${n % 3}`,
        occurredAt: past,
      }));
      expect((await client.post('/subscriber-events/batch', { events })).at('accepted')).toBe(7);
      const seen: Item[] = [];
      for (let after = ''; ;) {
        const page = await client.get(`${at}/activity?size=3&after=${after}`);
        expect(page.at('pagination', 'totalElements')).toBe(known.length + 7);
        seen.push(...page.at<Item[]>('data'));
        const next = page.at<string | null>('pagination', 'next');
        if (next === null) break;
        expect(page.at<Item[]>('data')).toHaveLength(3);
        after = next;
        await client.post(`${at}/events`, { name: 'meanwhile' });
      }
      const ids = seen.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.slice(0, known.length)).toEqual(known);
      expect(seen.slice(known.length).map(({ timestamp }) => timestamp)).toEqual(Array(7).fill(past));
      const whole = await activity();
      const pages = [];
      for (let page = 0; page * 4 < whole.length; page += 1)
        pages.push(...(await client.get(`${at}/activity?size=4&page=${page}`)).at<Item[]>('data'));
      expect(pages).toEqual(whole);
    });

    it('with each change of a field, by whoever made it, and none where nothing changes', async () => {
      const consent = { source: 'shop' };
      const before = (await activity('&type=subscriber.updated')).length;
      await client.patch(at, { lastName: 'of Alexandria', metadata: { crm: '7' } });
      await client.patch(at, { lastName: 'of Alexandria' });
      await client.request('PUT', at, { body: { phone: '+20 3', customFields: { plan: null } } });
      const rows = [
        { email: HYPATIA, firstName: 'Hypatia', lastName: 'Theonis' },
        { email: 'theon@example.com' },
      ];
      const order = await client.post('/subscriber-imports', { rows, topicKeys: [topicKey], consent });
      await eventually(
        'the import ends',
        async () => (await client.get(`/subscriber-imports/${order.at('id')}`)).at('status') === 'COMPLETED',
      );
      await client.patch(at, { email: 'hypatia@example.org', phone: null });
      await client.patch('/subscribers/hypatia@example.org', { email: HYPATIA });
      const changes = await activity('&type=subscriber.updated');
      expect(
        changes.slice(0, changes.length - before).map(({ data }) => [data['actor'], data['changes']]),
      ).toEqual([
        ['API_KEY', { email: { from: 'hypatia@example.org', to: HYPATIA } }],
        ['API_KEY', { phone: { from: '+20 3', to: null } }],
        ['API_KEY', { email: { from: HYPATIA, to: 'hypatia@example.org' } }],
        ['IMPORT', { lastName: { from: 'of Alexandria', to: 'Theonis' } }],
        ['API_KEY', { phone: { from: null, to: '+20 3' }, 'customFields.plan': { from: 'pro', to: null } }],
        ['API_KEY', { 'metadata.crm': { from: null, to: '7' } }],
      ]);
      expect(
        (await client.get('/subscribers/theon@example.com/activity?type=subscriber.updated')).at('data'),
      ).toEqual([]);
    });

    it('that nobody of another project sees, and that ends with the person', async () => {
      const other = await (await system.project()).client('TEST');
      expectProblem(await other.get(`${at}/activity`), 404, 'not-found');
      expect((await client.delete(at)).status).toBe(204);
      for (const path of ['activity', 'export'])
        expectProblem(await client.get(`${at}/${path}`), 404, 'not-found');
    });
  });
});
