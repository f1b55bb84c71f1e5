import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type System, sharedSystem, type SystemProject } from '#testing/programs/system';

const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const UUID_V7 = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
);
const UNKNOWN_ID = '019aa3b5-0000-7000-8000-000000000000';
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
const EDITABLE = ['DRAFT', 'SCHEDULED', 'FAILED'];
const NUMBERS = [
  'totalSent',
  'totalDelivered',
  'totalBounced',
  'hardBounced',
  'softBounced',
  'totalOpened',
  'uniqueOpens',
  'totalClicked',
  'uniqueClicks',
  'totalUnsubscribed',
  'spamComplaints',
  'deliveryRate',
  'openRate',
  'clickThroughRate',
  'clickToOpenRate',
  'unsubscribeRate',
  'bounceRate',
  'engagementScore',
];

interface Check {
  readonly code: string;
  readonly severity: string;
  readonly result: string;
  readonly message: string;
}

describe('campaigns', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;
  let topicId: string;
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    [topicId, topicKey] = [topic.at('id'), topic.at('topicKey')];
    const consent = { source: 'form' };
    await client.post('/subscribers', { email: 'ada@example.com', topicKeys: [topicKey], consent });
    await client.post('/subscribers', { email: 'bob@example.com', topicKeys: [topicKey], consent });
  });
  afterAll(() => system?.stop());

  const content = (...blocks: object[]) => JSON.stringify({ blocks });
  const hello = content({ type: 'text', html: '<p>Hello {{ subscriber.first_name }}</p>' });
  const sendable = () => ({
    name: 'News',
    subject: 'News',
    previewText: 'What is new',
    contentJson: hello,
    topicIds: [topicId],
  });
  const make = async (body: object = sendable(), by = client): Promise<string> =>
    (await by.post('/campaigns', body)).at('campaignKey');
  const read = (key: string) => client.get(`/campaigns/${key}`);
  const send = (key: string, by = client) => by.post(`/campaigns/${key}/send`);
  const turn = (key: string, status: string) =>
    system.database.query(
      'update messaging.campaigns set status = $1 where campaign_key = $2 and environment_id = $3',
      [status, key, project.test.environmentId],
    );
  const errorsOf = (answer: ApiAnswer, status: 400 | 422) => {
    const slug = status === 400 ? 'validation-error' : 'domain-validation';
    return expectProblem(answer, status, slug, { errors: expect.any(Object) })['errors'] as Record<
      string,
      string
    >;
  };

  describe('when they are written', () => {
    it('are drafts, whatever their strategy, and shown in full', async () => {
      const created = await client.post('/campaigns', { name: 'Autumn', subject: 'Leaves' });
      expect(created.status).toBe(201);
      expect(created.headers.get('location')).toBe(`/api/v1/campaigns/${created.at('campaignKey')}`);
      expect(created.body).toEqual({
        id: UUID_V7,
        campaignKey: expect.stringMatching(/^APIT-\d{3}$/),
        name: 'Autumn',
        subject: 'Leaves',
        previewText: null,
        metadata: {},
        contentJson: null,
        contentText: null,
        variants: [],
        test: null,
        testPhase: null,
        winningVariant: null,
        translations: {},
        status: 'DRAFT',
        sendStrategy: null,
        topicIds: [],
        segmentIds: [],
        templateKey: null,
        templateVersion: null,
        resendOf: null,
        estimatedRecipientCount: null,
        estimatedAt: null,
        scheduledAt: null,
        scheduledAtLocal: null,
        completedAt: null,
        fromEmail: null,
        fromName: null,
        replyTo: null,
        preSendScore: null,
        preSendStatus: null,
        createdAt: TIMESTAMP,
        updatedAt: TIMESTAMP,
      });
      const full = {
        ...sendable(),
        previewText: 'p',
        contentText: 'Line\r\nline\t{{ subscriber.first_name }}',
        fromEmail: 'News@Acme.example',
        fromName: 'Acme',
        replyTo: 'Answers@Acme.example',
        segmentIds: [],
        scheduledAt: TOMORROW,
      };
      for (const sendStrategy of ['DRAFT', 'IMMEDIATE', 'SCHEDULED']) {
        const answer = await client.post('/campaigns', { ...full, sendStrategy });
        expect(answer.body).toMatchObject({
          ...full,
          sendStrategy,
          status: 'DRAFT',
          estimatedRecipientCount: null,
        });
        expect((await read(answer.at('campaignKey'))).body).toEqual(answer.body);
        expect((await client.get('/campaigns')).at('data', 0)).toEqual(answer.body);
      }
    });

    it('have keys that count up, padded to three digits', async () => {
      const [first, second] = [await make(), await make()];
      expect(Number(second.slice(5))).toBe(Number(first.slice(5)) + 1);
      expectProblem(await read(first.replace(/-0+/, '-')), 404, 'not-found');
      expectProblem(await read(first.toLowerCase()), 404, 'not-found');
    });

    it('refuse what does not have the right form, all at once', async () => {
      const wrong = {
        name: 'n'.repeat(201),
        subject: 's'.repeat(501),
        previewText: 1,
        contentJson: { blocks: [] },
        contentText: [],
        fromEmail: 'nobody',
        fromName: 'Acme\r\nBcc: x@example.com',
        topicIds: ['news', topicId],
        segmentIds: 'all',
        sendStrategy: 'NOW',
        scheduledAt: '2030-01-01',
        scheduledAtLocal: '2030-01-01T09:00Z',
      };
      const paths = Object.keys(wrong).map((name) => (name === 'topicIds' ? 'topicIds[0]' : name));
      expect(Object.keys(errorsOf(await client.post('/campaigns', wrong), 400)).sort()).toEqual(paths.sort());
      expect(errorsOf(await client.post('/campaigns', {}), 400)).toEqual({
        name: 'is required',
        subject: 'is required',
      });
      for (const subject of ['', '  ', null, 'a\nb']) {
        expect(Object.keys(errorsOf(await client.post('/campaigns', { name: 'x', subject }), 400))).toEqual([
          'subject',
        ]);
      }
      const readOnly = { name: 'x', subject: 'x', status: 'SENT', campaignKey: 'X-001', preSendScore: 100 };
      expect(Object.keys(errorsOf(await client.post('/campaigns', readOnly), 400)).sort()).toEqual([
        'campaignKey',
        'preSendScore',
        'status',
      ]);
    });

    it('refuse what this project does not know, all at once', async () => {
      const body = {
        ...sendable(),
        topicIds: [topicId, UNKNOWN_ID],
        segmentIds: [UNKNOWN_ID],
        contentJson: content({ type: 'nothing' }),
        scheduledAt: '2020-01-01T00:00:00Z',
      };
      expect(Object.keys(errorsOf(await client.post('/campaigns', body), 422)).sort()).toEqual([
        'contentJson.blocks[0].type',
        'scheduledAt',
        'segmentIds[0]',
        'topicIds[1]',
      ]);
    });

    it('take an id in upper case for the one it is, once, and name a wrong one by its place', async () => {
      const segmentId = (await client.post('/segments', { name: 'Few' })).at('id') as string;
      const twice = (id: string) => [id.toUpperCase(), id];
      const body = { ...sendable(), topicIds: twice(topicId), segmentIds: twice(segmentId) };
      const created = await client.post('/campaigns', body);
      expect(created.body).toMatchObject({ topicIds: [topicId], segmentIds: [segmentId] });
      const changed = await client.patch(`/campaigns/${created.at('campaignKey')}`, {
        topicIds: twice(topicId),
      });
      expect(changed.body).toMatchObject({ topicIds: [topicId] });
      const wrong = { ...sendable(), topicIds: [topicId, topicId, UNKNOWN_ID] };
      expect(errorsOf(await client.post('/campaigns', wrong), 422)).toEqual({
        'topicIds[2]': 'is not a known topic',
      });
    });

    it('refuse content that is no Unicode text, which could not be shown again as it was given', async () => {
      const body = { ...sendable(), contentJson: '{"blocks":[{"type":"text","html":"\ud800"}]}' };
      expect(errorsOf(await client.post('/campaigns', body), 400)).toEqual({
        contentJson: 'is not valid Unicode',
      });
    });

    it.each([
      ['{', 'contentJson'],
      ['[]', 'contentJson'],
      ['{}', 'contentJson.blocks'],
      ['{"blocks":[],"more":1}', 'contentJson.more'],
      [
        content({ type: 'text', html: 'x' }, { type: 'divider' }, { type: 'heading', level: 4, text: 'x' }),
        'contentJson.blocks[2].level',
      ],
      [content({ type: 'heading', level: 1, text: 'x', size: 3 }), 'contentJson.blocks[0].size'],
      [content({ type: 'image', alt: 'x' }), 'contentJson.blocks[0].src'],
      [content({ type: 'spacer', height: 'tall' }), 'contentJson.blocks[0].height'],
      [content({ type: 'columns', columns: [{ blocks: [] }] }), 'contentJson.blocks[0].columns'],
      [
        content({
          type: 'columns',
          columns: [{ blocks: [] }, { blocks: [{ type: 'columns', columns: [] }] }],
        }),
        'contentJson.blocks[0].columns[1].blocks[0].type',
      ],
      [
        content({ type: 'mjml', mjml: '<mjml><mj-body></mj-body></mjml>' }, { type: 'divider' }),
        'contentJson.blocks[0]',
      ],
      ['{"blocks":[],"theme":{"width":"wide"}}', 'contentJson.theme.width'],
    ])('refuse content with a fault: %s', async (contentJson, path) => {
      expect(
        Object.keys(errorsOf(await client.post('/campaigns', { ...sendable(), contentJson }), 422)),
      ).toEqual([path]);
    });
  });

  describe('when they are changed', () => {
    it('take what is given, clear what is null and keep the rest', async () => {
      const before = await client.post('/campaigns', {
        ...sendable(),
        previewText: 'p',
        fromName: 'Acme',
        scheduledAt: TOMORROW,
      });
      const path = `/campaigns/${before.at('campaignKey')}`;
      expect((await client.patch(path, {})).body).toEqual(before.body);
      const changes = {
        name: 'Renamed',
        previewText: null,
        scheduledAt: null,
        scheduledAtLocal: null,
        topicIds: null,
        sendStrategy: 'IMMEDIATE',
        fromName: null,
      };
      const patched = await client.patch(path, changes);
      expect(patched.body).toEqual({
        ...(before.body as object),
        ...changes,
        topicIds: [],
        estimatedRecipientCount: null,
        estimatedAt: null,
        updatedAt: TIMESTAMP,
      });
      expect((await client.get(path)).body).toEqual(patched.body);
      expect(
        Object.keys(errorsOf(await client.patch(path, { name: null, subject: '' }), 400)).sort(),
      ).toEqual(['name', 'subject']);
      expect(
        Object.keys(errorsOf(await client.patch(path, { scheduledAt: '2020-01-01T00:00:00Z' }), 422)),
      ).toEqual(['scheduledAt']);
      expect((await client.get(path)).body).toEqual(patched.body);
    });

    it('by taking the subject away, without which nothing is sent', async () => {
      const path = `/campaigns/${await make()}`;
      expect((await client.patch(path, { subject: null })).at('subject')).toBeNull();
      expect((await client.get(path)).at('subject')).toBeNull();
      const rejected = await client.post(`${path}/send`);
      expect(rejected.status).toBe(409);
      expect(rejected.at('checks')).toContainEqual({
        code: 'content-empty',
        severity: 'CRITICAL',
        result: 'FAIL',
        message: 'The campaign has no subject.',
      });
      expect((await client.get(`${path}/preview`)).at('subject')).toBe('');
    });

    it('only as drafts, scheduled or failed', async () => {
      const key = await make();
      for (const status of ['QUEUED_FOR_SENDING', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED', 'ARCHIVED']) {
        await turn(key, status);
        const refused = await client.patch(`/campaigns/${key}`, { name: 'x' });
        expectProblem(refused, 409, 'invalid-state', { currentState: status, allowedStates: EDITABLE });
        expectProblem(await client.patch(`/campaigns/${key}`, {}), 409, 'invalid-state', {
          currentState: status,
          allowedStates: EDITABLE,
        });
      }
      for (const status of EDITABLE) {
        await turn(key, status);
        expect((await client.patch(`/campaigns/${key}`, { name: status })).body).toMatchObject({
          name: status,
        });
      }
    });

    it('are drafts again without their time', async () => {
      const key = await make({ ...sendable(), scheduledAt: TOMORROW });
      await turn(key, 'SCHEDULED');
      expect((await client.patch(`/campaigns/${key}`, { name: 'x' })).at('status')).toBe('SCHEDULED');
      expect((await client.patch(`/campaigns/${key}`, { scheduledAt: null })).at('status')).toBe('DRAFT');
    });

    it('lose their pre-send verdict with other content or another audience, not with another name', async () => {
      const key = await make({ name: 'x', subject: 'x' });
      expect((await send(key)).status).toBe(409);
      expect(
        (await client.patch(`/campaigns/${key}`, { name: 'y', sendStrategy: 'DRAFT' })).at('preSendStatus'),
      ).toBe('FAILED');
      const changed = await client.patch(`/campaigns/${key}`, { subject: 'y' });
      expect([changed.at('preSendStatus'), changed.at('preSendScore')]).toEqual([null, null]);
    });
  });

  describe('when they are sent', () => {
    const failedChecks = (answer: ApiAnswer): string[] => {
      const problem = expectProblem(answer, 409, 'pre-send-rejected', { checks: expect.any(Array) });
      const checks = problem['checks'] as Check[];
      for (const check of checks) {
        expect(check).toEqual({
          code: expect.stringMatching(/^[a-z-]+$/),
          severity: expect.stringMatching(/^(CRITICAL|WARNING|INFO)$/),
          result: expect.stringMatching(/^(PASS|FAIL|SKIPPED)$/),
          message: expect.stringMatching(/\S/),
        });
      }
      return checks
        .flatMap(({ code, result, severity }) => (result === 'FAIL' && severity === 'CRITICAL' ? [code] : []))
        .sort();
    };

    it('say how many would receive them as of their last check', async () => {
      const topic = await client.post('/topics', { name: 'New', doubleOptInEnabled: false });
      const estimateOf = async (key: string) => (await read(key)).at<number>('estimatedRecipientCount');
      const draft = { ...sendable(), topicIds: [topic.at('id')], scheduledAt: TOMORROW };
      const [looked, scheduled] = [await make(draft), await make(draft)];
      expect(await estimateOf(looked)).toBeNull();
      const consent = { source: 'form' };
      const topicKeys = [topic.at('topicKey')];
      await client.post('/subscribers', { email: 'cleo@example.com', topicKeys, consent });
      await client.get(`/campaigns/${looked}/pre-send-analysis`);
      expect(await estimateOf(looked)).toBe(1);
      expect((await read(looked)).at('estimatedAt')).toEqual(TIMESTAMP);
      const elsewhere = await client.patch(`/campaigns/${looked}`, { topicIds: [] });
      expect(elsewhere.body).toMatchObject({ estimatedRecipientCount: null, estimatedAt: null });
      const answer = await client.post(`/campaigns/${scheduled}/schedule`);
      expect(answer.body).toMatchObject({ status: 'SCHEDULED', estimatedRecipientCount: 1 });
      expect(await estimateOf(scheduled)).toBe(1);
      expect((await client.post(`/campaigns/${scheduled}/cancel`)).status).toBe(200);
    });

    it('with nothing in them are refused with all that is missing, and stay drafts', async () => {
      const key = await make({ name: 'x', subject: 'x' });
      expect(failedChecks(await send(key))).toEqual(['content-empty', 'recipients', 'topic']);
      const { body } = await read(key);
      expect(body).toMatchObject({
        status: 'DRAFT',
        preSendStatus: 'FAILED',
        preSendScore: expect.any(Number),
      });
    });

    it.each([
      ['merge-tags', { contentJson: content({ type: 'text', html: '<p>{{ subscriber.frist_name }}</p>' }) }],
      ['merge-tags', { subject: '{{ unclosed' }],
      ['merge-tags', { contentText: '{% if %}' }],
      ['merge-tags', { contentJson: content({ type: 'text', html: '<p>{{ unclosed</p>' }) }],
      ['links', { contentJson: content({ type: 'text', html: '<a href="javascript:alert(1)">Go</a>' }) }],
      ['links', { contentJson: content({ type: 'text', html: '<a href="ftp://example.com/x">Go</a>' }) }],
      ['links', { contentJson: content({ type: 'html', html: '<a href="https://">Go</a>' }) }],
      ['content-empty', { contentJson: content(), contentText: null }],
      ['content-empty', { contentJson: null, contentText: '   ' }],
    ])('are refused for %s alone: %j', async (code, change) => {
      expect(failedChecks(await send(await make({ ...sendable(), ...change })))).toEqual([code]);
    });

    it('are refused without an active topic, a subscription that allows it, or a verified domain when live', async () => {
      const paused = await client.post('/topics', { name: 'Paused', doubleOptInEnabled: false });
      const consent = { source: 'form' };
      await client.post('/subscribers', {
        email: 'eve@example.com',
        topicKeys: [paused.at('topicKey')],
        consent,
      });
      await client.patch(`/topics/${paused.at('topicKey')}`, { status: 'INACTIVE' });
      expect(failedChecks(await send(await make({ ...sendable(), topicIds: [paused.at('id')] })))).toContain(
        'topic',
      );

      const live = await project.client('LIVE');
      const topic = await live.post('/topics', { name: 'News', doubleOptInEnabled: false });
      await live.post('/subscribers', {
        email: 'ada@example.com',
        topicKeys: [topic.at('topicKey')],
        consent,
      });
      const body = { ...sendable(), topicIds: [topic.at('id')], fromEmail: 'news@acme.example' };
      expect(failedChecks(await send(await make(body, live), live))).toEqual(['sender-domain-verified']);

      const setStatus = (status: string) =>
        system.database.query('update billing.subscriptions set status = $1 where tenant_id = $2', [
          status,
          project.live.tenantId,
        ]);
      await setStatus('RESTRICTED');
      expect(failedChecks(await send(await make()))).toEqual(['subscription-active']);
      await setStatus('ACTIVE');
    });

    it('go out once, when two send them at the same moment', async () => {
      const key = await make();
      const answers = await Promise.all([send(key), send(key), send(key)]);
      const [accepted, ...refused] = answers.sort((one, other) => one.status - other.status);
      expect([accepted?.status, accepted?.at('status')]).toEqual([200, 'QUEUED_FOR_SENDING']);
      expect(accepted?.at('estimatedRecipientCount')).toBe(2);
      for (const answer of refused) {
        const members = { currentState: expect.any(String), allowedStates: EDITABLE };
        expectProblem(answer, 409, 'invalid-state', members);
      }
      await eventually('it is sent', async () => (await read(key)).at('status') === 'SENT');
      expect((await read(key)).body).toMatchObject({
        status: 'SENT',
        completedAt: TIMESTAMP,
        preSendScore: 100,
        preSendStatus: 'PASSED',
      });
      expectProblem(await send(key), 409, 'invalid-state', { currentState: 'SENT', allowedStates: EDITABLE });
      expect((await client.get('/test-inbox/messages?kind=CAMPAIGN')).at('pagination', 'totalElements')).toBe(
        2,
      );
    });

    it('are refused in every state from which they cannot be sent, and accepted from the others', async () => {
      const key = await make();
      for (const status of ['QUEUED_FOR_SENDING', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED', 'ARCHIVED']) {
        await turn(key, status);
        expectProblem(await send(key), 409, 'invalid-state', {
          currentState: status,
          allowedStates: EDITABLE,
        });
      }
      for (const status of ['SCHEDULED', 'FAILED']) {
        const other = await make();
        await turn(other, status);
        expect((await send(other)).status).toBe(200);
      }
      expectProblem(await send('APIT-999'), 404, 'not-found');
    });

    it('take no body, or an empty one', async () => {
      const key = await make();
      expect(errorsOf(await client.post(`/campaigns/${key}/send`, { at: TOMORROW }), 400)).toEqual({
        at: 'is not a known field',
      });
      expect((await client.post(`/campaigns/${key}/send`, {})).status).toBe(200);
    });
  });

  describe('have a report', () => {
    it('that is all zero before sending', async () => {
      const created = await client.post('/campaigns', sendable());
      const statistics = await client.get(`/campaigns/${created.at('campaignKey')}/report/statistics`);
      expect([statistics.status, statistics.body]).toEqual([
        200,
        {
          campaignId: created.at('id'),
          status: 'COLLECTING',
          ...Object.fromEntries(NUMBERS.map((name) => [name, 0])),
          collectedAt: null,
          lastUpdatedAt: null,
          completedAt: null,
        },
      ]);
      expect(Object.keys(statistics.body as object)).toEqual([
        'campaignId',
        'status',
        ...NUMBERS,
        'collectedAt',
        'lastUpdatedAt',
        'completedAt',
      ]);
    });

    it('as CSV, in which nothing is a formula', async () => {
      for (const [name, cell] of [
        ['=SUM(A1)', `'=SUM(A1)`],
        ['+1', `'+1`],
        ['-1', `'-1`],
        ['@x', `'@x`],
        ['Say "hi", all', '"Say ""hi"", all"'],
      ]) {
        const key = await make({ ...sendable(), name });
        const csv = await client.get(`/campaigns/${key}/report/export`);
        expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
        expect(csv.headers.get('content-disposition')).toBe(`attachment; filename="${key}-report.csv"`);
        const zeros = NUMBERS.map(() => '0').join(',');
        const header = [
          'campaignKey',
          'name',
          'status',
          ...NUMBERS,
          'collectedAt',
          'lastUpdatedAt',
          'completedAt',
        ].join(',');
        expect(csv.text).toBe(`${header}\r\n${key},${cell},DRAFT,${zeros},,,\r\n`);
      }
    });

    it('only if they exist', async () => {
      for (const part of ['statistics', 'export']) {
        expectProblem(await client.get(`/campaigns/APIT-999/report/${part}`), 404, 'not-found');
      }
    });
  });
});
