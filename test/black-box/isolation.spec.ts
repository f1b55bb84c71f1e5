import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import sharp from 'sharp';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { openApiDocument, type OperationObject } from '#testing/http/openapi-validation';
import { timelessProblem } from '#testing/http/problems';
import { type System, sharedSystem } from '#testing/programs/system';

type Ids = Readonly<Record<string, string>>;

interface Sample {
  /** A body that would be valid if the resource were the caller's; `topicKey` is one of the caller's own. */
  readonly body?: (topicKey: string) => object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Status for a stranger where a 404 is not the contract's answer. */
  readonly strangerStatus?: number;
}

/** Bodies and headers of operations with a path parameter that need some, and answers other than 404. */
const SAMPLES: Readonly<Record<string, Sample>> = {
  getProjectTexts: { strangerStatus: 200 },
  updateProjectTexts: { body: () => ({ texts: {} }), strangerStatus: 200 },
  updateTopic: { body: () => ({ name: 'Mine' }) },
  updateSubscriber: { body: () => ({ firstName: 'Mine' }) },
  upsertSubscriber: { body: () => ({ firstName: 'Mine' }), strangerStatus: 422 },
  recordSubscriberEvent: { body: () => ({ name: 'seen' }) },
  updateCustomFieldDetails: { body: () => ({ displayName: 'Mine' }) },
  updateCustomFieldConfig: { body: () => ({ defaultValue: 'mine' }) },
  updateSegment: { body: () => ({ name: 'Mine' }) },
  addSegmentMembers: { body: () => ({ emails: ['ada@owner.example'] }) },
  deleteSegmentMembers: { body: () => ({ emails: ['ada@owner.example'] }) },
  removeSegmentMembers: { body: () => ({ emails: ['ada@owner.example'] }) },
  grantConsent: { body: (topicKey) => ({ topicKey, source: 'form' }) },
  getSuppression: { strangerStatus: 200 },
  unsuppress: { headers: { 'x-confirm-unsuppress': 'true' }, strangerStatus: 204 },
  updateCampaign: { body: () => ({ name: 'Mine' }) },
  chooseVariant: { body: () => ({ variant: 1 }) },
  testCampaign: { body: () => ({ emails: ['me@example.com'] }) },
  updateAutomation: { body: () => ({ name: 'Mine' }) },
  updateAutomationContent: { body: () => ({ nodes: '[]', edges: '[]' }) },
  enterAutomation: { body: () => ({ email: 'ada@owner.example' }) },
  rescheduleMessage: { body: () => ({ scheduledAt: new Date(Date.now() + 60_000) }) },
  updateRelay: { body: () => ({ name: 'Mine' }) },
  updateTemplate: { body: () => ({ name: 'Mine' }) },
  publishTemplate: { body: () => ({}) },
  previewTemplate: { body: () => ({}) },
  duplicateTemplate: { body: () => ({}) },
  updateApiKey: { body: () => ({ name: 'Mine' }) },
  rotateApiKey: { body: () => ({}) },
  createReportLink: { body: () => ({}) },
  updateWebhookEndpoint: { body: () => ({ description: 'Mine' }) },
  rotateWebhookSecret: { body: () => ({}) },
  replayWebhooks: { body: () => ({ since: new Date(0) }) },
};

/** Parameters that name what every project has. */
const IN_ALL: Ids = { locale: 'en', version: '1' };

const UNKNOWN: Ids = {
  email: 'nobody@example.com',
  suppressed: 'nobody@example.com',
  relayKey: 'APIT-999',
  mediaId: '019aa3b5-0000-7000-8000-000000000000',
  templateKey: 'APIT-999',
  topicKey: 'APIT-999',
  campaignKey: 'APIT-999',
  id: '019aa3b5-0000-7000-8000-000000000000',
  importId: '019aa3b5-0000-7000-8000-000000000000',
  suppressionImportId: '019aa3b5-0000-7000-8000-000000000000',
  exportId: '019aa3b5-0000-7000-8000-000000000000',
  apiKeyId: '019aa3b5-0000-7000-8000-000000000000',
  messageId: '019aa3b5-0000-7000-8000-000000000000',
  endpointId: '019aa3b5-0000-7000-8000-000000000000',
  deliveryId: '019aa3b5-0000-7000-8000-000000000000',
  segmentId: 'APIT-999',
  automationId: 'APIT-999',
  key: 'nothing_here',
};

interface Stranger {
  readonly name: string;
  readonly client: ApiClient;
  readonly topicKey: string;
}

interface DocumentedOperation {
  readonly method: string;
  /** Below /api/v1. */
  readonly path: string;
  readonly operation: OperationObject;
}

describe('projects and their environments', () => {
  let system: System;
  let owner: ApiClient;
  let owned: Ids;
  let ownedTopicId: string;
  let strangers: Stranger[];
  let operations: DocumentedOperation[];

  beforeAll(async () => {
    system = await sharedSystem();
    const project = await system.project('APIT');
    owner = await project.client('TEST');
    strangers = await Promise.all([
      makeStranger('the live environment', await project.client('LIVE')),
      makeStranger('another project', await (await system.project('BETA')).client('TEST')),
      makeStranger(
        'another tenant with the same project key',
        await (await system.project('APIT')).client('TEST'),
      ),
    ]);
    await fillOwner();
    await nothingIsToCome();
    const { paths } = await openApiDocument(system.baseUrl);
    operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: path.replace('/api/v1', ''),
        operation,
      })),
    );
  });
  afterAll(() => system?.stop());

  async function makeStranger(name: string, client: ApiClient): Promise<Stranger> {
    return { name, client, topicKey: (await client.post('/topics', { name })).at('topicKey') };
  }

  /** Its topic's key is one that no stranger's topic has. */
  async function fillOwner(): Promise<void> {
    await owner.post('/topics', { name: 'First' });
    await owner.post('/topics', { name: 'Second' });
    const topic = await owner.post('/topics', { name: 'Third' });
    const topicKey = topic.at('topicKey');
    ownedTopicId = topic.at('id');
    const email = 'ada@owner.example';
    await owner.post('/subscribers', { email, topicKeys: [topicKey], consent: { source: 'form' } });
    await owner.post('/suppressions', { email: 'gone@owner.example', reason: 'HARD_BOUNCE' });
    const campaign = await owner.post('/campaigns', {
      name: 'Secret',
      subject: 'Secret',
      topicIds: [ownedTopicId],
    });
    await system.database.query(
      `insert into messaging.campaign_reports (id, environment_id, campaign_id, version, status, content, locale, created_at, updated_at)
       select id, environment_id, id, 1, 'GENERATED', 'Secret', 'en', now(), now() from messaging.campaigns where id = $1`,
      [campaign.at('id')],
    );
    const segment = await owner.post('/segments', { name: 'Secret', type: 'STATIC' });
    await owner.post('/custom-fields', { key: 'secret_field', displayName: 'Secret', type: 'TEXT' });
    await owner.post('/sending-domain', { domainName: 'owner.example' });
    const relays = { kind: 'SMTP', name: 'Secret', host: '127.0.0.1', port: 1 };
    let relay = await owner.post('/relays', relays);
    // A number that nothing of a stranger has.
    while (relay.at('relayKey') !== 'APIT-9') relay = await owner.post('/relays', relays);
    const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const media = await owner.post('/media', picture, { headers: { 'content-type': 'image/png' } });
    const templates = { name: 'Secret', kind: 'MESSAGE', subject: 'Secret', contentText: 'Secret' };
    let template = await owner.post('/templates', templates);
    while (template.at('templateKey') !== 'APIT-8') template = await owner.post('/templates', templates);
    await owner.patch('/templates/APIT-8', { alias: 'secret' });
    await owner.post('/templates/secret/publish', {});
    const endpoint = await owner.post('/webhook-endpoints', {
      url: 'http://127.0.0.1:9/secret',
      events: ['credits.depleted'],
      description: 'Secret',
    });
    const [delivery] = await system.database.query<{ id: string }>(
      `with event as (
         insert into webhooks.events (id, environment_id, type, data, occurred_at, sequence)
         select platform.new_id(), environment_id, 'credits.depleted', '{}', now(), 1 from webhooks.endpoints where id = $1
         returning *
       ), numbered as (
         insert into webhooks.sequences (environment_id, last) select environment_id, 1 from event
       )
       insert into webhooks.deliveries
         (id, environment_id, endpoint_id, event_id, state, next_attempt_at, finished_at, created_at)
       select platform.new_id(), environment_id, $1, id, 'FAILED', now(), now(), now() from event returning id`,
      [endpoint.at('id')],
    );
    const importId = await importOne();
    const suppressions = await owner.post('/suppression-imports', 'email\nno address\n', {
      headers: { 'content-type': 'text/csv' },
    });
    const ordered = await owner.post('/exports', { what: 'SUBSCRIBERS', format: 'CSV' });
    const apiKey = await owner.post('/api-keys', { name: 'Secret', scopes: ['topics:read'] });
    const message = await owner.post('/messages', {
      to: 'eve@owner.example',
      purpose: 'Secret',
      subject: 'Secret',
      text: 'Secret',
      scheduledAt: new Date(Date.now() + 86_400_000),
    });
    const inbox = await eventually('the confirmation mail', async () => {
      const answer = await owner.get('/test-inbox/messages');
      return answer.at<unknown[]>('data').length > 0 && answer;
    });
    owned = {
      email,
      suppressed: 'gone@owner.example',
      topicKey,
      campaignKey: campaign.at('campaignKey'),
      id: inbox.at('data', 0, 'id'),
      importId,
      suppressionImportId: suppressions.at('id'),
      exportId: ordered.at('id'),
      apiKeyId: apiKey.at('id'),
      messageId: message.at('id'),
      mediaId: media.at('id'),
      segmentId: segment.at('id'),
      automationId: (await owner.post('/automations', { name: 'Secret', triggerType: 'manual' })).at('id'),
      relayKey: relay.at('relayKey'),
      templateKey: template.at('templateKey'),
      key: 'secret_field',
      endpointId: endpoint.at('id'),
      deliveryId: delivery!.id,
    };
  }

  /** Waits for the worker's own changes of the first minutes, or prevents them: what is compared later stays. */
  async function nothingIsToCome(): Promise<void> {
    await eventually(
      'the credits of the first month',
      async () => (await owner.get('/credits/balance')).at<number>('balance') > 0,
    );
    await system.database.query(
      `update deliverability.sending_domains set next_check_at = null where domain_name = 'owner.example'`,
    );
  }

  async function importOne(): Promise<string> {
    const started = await owner.post('/subscriber-imports', {
      rows: [{ email: 'not an address' }],
      topicKeys: (await owner.get('/topics'))
        .at<{ topicKey: string }[]>('data')
        .map(({ topicKey }) => topicKey),
      consent: { source: 'import' },
    });
    expect(started.status).toBe(202);
    const id = started.at('id');
    await eventually('the import is done', async () => {
      const answer = await owner.get(`/subscriber-imports/${id}`);
      return answer.at('status') === 'COMPLETED';
    });
    return id;
  }

  const sampleOf = ({ operation }: DocumentedOperation): Sample => SAMPLES[operation.operationId] ?? {};
  const urlOf = (path: string, ids: Ids): string =>
    path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
      const id = IN_ALL[name] ?? ids[idNameOf(path, name)];
      if (id === undefined)
        throw new Error(`Add a sample value for the path parameter {${name}} of ${path}.`);
      return encodeURIComponent(id);
    });
  /** Parameters of one name that stand for different things. */
  const idNameOf = (path: string, name: string): string => {
    if (path.startsWith('/suppressions')) return 'suppressed';
    if (path.startsWith('/suppression-imports')) return 'suppressionImportId';
    if (path.startsWith('/exports')) return 'exportId';
    if (path.startsWith('/api-keys')) return 'apiKeyId';
    if (path.startsWith('/media')) return 'mediaId';
    if (path.startsWith('/messages')) return 'messageId';
    if (path.startsWith('/webhook-endpoints') && name === 'id') return 'endpointId';
    return path.startsWith('/subscriber-imports') ? 'importId' : name;
  };
  const withParameter = () => operations.filter(({ path }) => path.includes('{'));
  const ask = async (
    stranger: Stranger,
    target: DocumentedOperation,
    ids: Ids,
  ): Promise<{ status: number; text: string }> => {
    const { body, headers = {} } = sampleOf(target);
    const answer = await stranger.client.request(target.method, urlOf(target.path, ids), {
      headers,
      ...(body === undefined ? {} : { body: body(stranger.topicKey) }),
    });
    return { status: answer.status, text: withoutIds(timelessProblem(answer.text), ids) };
  };
  const withoutIds = (text: string, ids: Ids): string =>
    Object.values(ids).reduce(
      (rest, id) => rest.replaceAll(id, '…').replaceAll(encodeURIComponent(id), '…'),
      text,
    );

  /** Everything the owner can read. */
  const ownersView = async (): Promise<string[]> => {
    // Each look is a request.
    const reads = operations.filter(({ method, path }) => method === 'GET' && path !== '/requests');
    const answers: ApiAnswer[] = [];
    for (const { path } of reads) answers.push(await owner.get(urlOf(path, owned)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    // A preview's links are those of a mail that is made up anew each time, and each analysis counts anew.
    return answers.map(({ text }) =>
      text
        .replaceAll(/\/[upv]\/(?:[\w-]{100}|[\w-]{58})/g, '/…')
        .replaceAll(/"(estimatedAt|lastUsedAt)":(?:"[^"]*"|null)/g, '"$1":"…"'),
    );
  };

  it('answer for another’s resource exactly as for one that does not exist, and leave it as it is', async () => {
    // The first look has the campaign analysed, and it keeps the verdict.
    await ownersView();
    const before = await ownersView();
    expect(withParameter().length).toBeGreaterThanOrEqual(44);
    for (const target of withParameter()) {
      for (const stranger of strangers) {
        const others = await ask(stranger, target, owned);
        const nobodys = await ask(stranger, target, UNKNOWN);
        const where = `${target.method} ${target.path} from ${stranger.name}`;
        expect({ where, ...others }).toEqual({ where, ...nobodys });
        expect({ where, status: others.status }).toEqual({
          where,
          status: sampleOf(target).strangerStatus ?? 404,
        });
      }
    }
    expect(await ownersView()).toEqual(before);
  });

  it('have samples for operations that exist', () => {
    const known = withParameter().map(({ operation }) => operation.operationId);
    expect(Object.keys(SAMPLES).filter((operationId) => !known.includes(operationId))).toEqual([]);
  });

  it('never list what belongs to another', async () => {
    const secrets = [ownedTopicId, 'owner.example', 'Secret', ...Object.values(owned)];
    // The audit log tells strangers what they asked for themselves.
    const lists = operations.filter(
      ({ method, path }) => method === 'GET' && !path.includes('{') && !path.startsWith('/audit-log'),
    );
    for (const { path } of lists) {
      for (const { name, client } of strangers) {
        for (const query of [
          '',
          `?topicKey=${owned['topicKey']}`,
          '?q=ada',
          '?status=DRAFT',
          '?to=ada%40owner.example',
        ]) {
          const answer = await client.get(path + query);
          const found = secrets.filter((secret) => answer.text.includes(secret));
          expect({ name, path, query, found }).toEqual({ name, path, query, found: [] });
        }
      }
    }
  });

  it('do not know another’s topics, in whatever place they are named', async () => {
    for (const { client } of strangers) {
      const grantTo = (topicKey: string | undefined) =>
        client.post('/subscribers', {
          email: 'new@example.com',
          topicKeys: [topicKey],
          consent: { source: 'form' },
        });
      const write = (topicId: string | undefined) =>
        client.post('/campaigns', { name: 'x', subject: 'x', topicIds: [topicId] });
      for (const [others, nobodys] of [
        [await grantTo(owned['topicKey']), await grantTo(UNKNOWN['topicKey'])],
        [await write(ownedTopicId), await write(UNKNOWN['id'])],
      ]) {
        expect(others?.status).toBe(422);
        expect(timelessProblem(others?.text ?? '')).toBe(timelessProblem(nobodys?.text ?? ''));
      }
    }
  });

  it('do not know another’s segments, topics and subscribers, where a body names them by their ids', async () => {
    const subscriber = await owner.get(`/subscribers/${encodeURIComponent(owned['email'] ?? '')}`);
    for (const { client } of strangers) {
      const segment = await client.post('/segments', { name: 'Mine', type: 'STATIC' });
      const asks: readonly (readonly [id: string | undefined, send: (id: string) => Promise<ApiAnswer>])[] = [
        [
          owned['segmentId'],
          (id) => client.post('/campaigns', { name: 'x', subject: 'x', segmentIds: [id] }),
        ],
        [
          ownedTopicId,
          (triggerTopicId) =>
            client.post('/automations', { name: 'x', triggerType: 'subscriber_joins_list', triggerTopicId }),
        ],
        [
          subscriber.at('id'),
          (id) => client.post(`/segments/${segment.at('id')}/members`, { subscriberIds: [id] }),
        ],
      ];
      for (const [id = '', send] of asks) {
        const others = await send(id);
        expect(others.status).toBe(422);
        expect(timelessProblem(others.text)).toBe(timelessProblem((await send(UNKNOWN['id'] ?? '')).text));
      }
    }
  });

  it('may each have a subscriber with the same address, whose consents and suppression are their own', async () => {
    const email = owned['email'] ?? '';
    const path = `/subscribers/${encodeURIComponent(email)}`;
    const before = (await owner.get(`${path}/consents`)).text;
    for (const { client, topicKey } of strangers) {
      const created = await client.post('/subscribers', {
        email,
        topicKeys: [topicKey],
        consent: { source: 'form' },
      });
      expect(created.status).toBe(201);
      for (const call of [
        (key: string | undefined) => client.delete(`${path}/consents/${key}`),
        (key: string | undefined) => client.post(`${path}/consents/${key}/resend`),
      ]) {
        const others = await call(owned['topicKey']);
        expect(others.status).toBe(404);
        expect(timelessProblem(others.text)).toBe(timelessProblem((await call(UNKNOWN['topicKey'])).text));
      }
      expect((await client.post('/suppressions', { email })).status).toBe(201);
      expect((await client.get(path)).at('status')).toBe('SUPPRESSED');
    }
    expect((await owner.get(`${path}/consents`)).text).toBe(before);
    expect((await owner.get(path)).at('status')).toBe('PENDING_CONFIRMATION');
  });

  it('empty their own test inbox only', async () => {
    for (const { client } of strangers.slice(1))
      expect((await client.delete('/test-inbox/messages')).status).toBe(204);
    expect((await owner.get(`/test-inbox/messages/${owned['id']}`)).status).toBe(200);
  });
});
