import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { allowLiveMail } from '#testing/fixtures/sending-domain';
import { sharedRelay } from '#testing/programs/shared-system-client';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const RECIPIENTS = 600;
/** The relay takes so many, and lets the others wait until the test has said what becomes of the campaign. */
const SENT_FIRST = 60;
const READERS_DOMAIN = 'readers.lifecycle.example';

const DAY_MS = 24 * 3_600_000;

describe('the life of a campaign', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let live: ApiClient;
  let test: ApiClient;
  let topicId: string;
  let testTopicId: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    await allowLiveMail(system.database, project.live, 'lifecycle.example');
    live = await project.client('LIVE');
    test = await project.client('TEST');
    topicId = (await live.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('id');
    testTopicId = (await test.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('id');
    await insertSubscribers(system.database, project.live, topicId, RECIPIENTS, READERS_DOMAIN);
    await insertSubscribers(system.database, project.test, testTopicId, 3);
  });

  afterAll(() => system?.stop());

  const soon = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();

  async function draft(client: ApiClient, fields: Record<string, unknown> = {}): Promise<string> {
    const created = await client.post('/campaigns', {
      name: 'News',
      subject: 'Hello {{ subscriber.first_name }}',
      previewText: 'What is new',
      contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
      topicIds: [client === live ? topicId : testTopicId],
      ...fields,
    });
    expect([created.status, created.at('status'), created.at('preSendStatus')]).toEqual([201, 'DRAFT', null]);
    return created.at('campaignKey');
  }

  const relay = sharedRelay(`@${READERS_DOMAIN}`);
  const act = (client: ApiClient, key: string, action: string) => client.post(`/campaigns/${key}/${action}`);

  const becomes = (client: ApiClient, key: string, status: string): Promise<ApiAnswer> =>
    eventually(`${key} is ${status}`, async () => {
      const campaign = await client.get(`/campaigns/${key}`);
      return campaign.at('status') === status ? campaign : null;
    });

  it('cannot be scheduled without a time, or when it would be refused', async () => {
    const key = await draft(test);
    expectProblem(await act(test, key, 'schedule'), 409, 'schedule-missing');
    const empty = await draft(test, { contentText: null, scheduledAt: soon(DAY_MS) });
    const { checks } = expectProblem(await act(test, empty, 'schedule'), 409, 'pre-send-rejected', {
      checks: expect.arrayContaining([expect.objectContaining({ code: 'content-empty', result: 'FAIL' })]),
    });
    expect(checks).toBeInstanceOf(Array);
    expect((await test.get(`/campaigns/${empty}`)).at('preSendStatus')).toBe('FAILED');
  });

  it('is a draft again without its schedule, is cancelled out of it, and deleted', async () => {
    const key = await draft(test, { scheduledAt: soon(DAY_MS) });
    expect((await act(test, key, 'schedule')).status).toBe(200);
    expectProblem(await act(test, key, 'schedule'), 409, 'invalid-state', {
      currentState: 'SCHEDULED',
      allowedStates: ['DRAFT'],
    });
    const moved = await test.patch(`/campaigns/${key}`, { subject: 'Other', scheduledAt: soon(2 * DAY_MS) });
    expect([moved.at('status'), moved.at('preSendStatus')]).toEqual(['SCHEDULED', null]);
    const cleared = await test.patch(`/campaigns/${key}`, { scheduledAt: null });
    expect([cleared.at('status'), cleared.at('scheduledAt')]).toEqual(['DRAFT', null]);
    await test.patch(`/campaigns/${key}`, { scheduledAt: soon(DAY_MS) });
    await act(test, key, 'schedule');
    const cancelled = await act(test, key, 'cancel');
    expect([cancelled.at('status'), cancelled.at('completedAt')]).toEqual(['CANCELLED', null]);
    expectProblem(await act(test, key, 'send'), 409, 'invalid-state', {
      currentState: 'CANCELLED',
      allowedStates: ['DRAFT', 'SCHEDULED', 'FAILED'],
    });
    expect((await test.delete(`/campaigns/${key}`)).status).toBe(204);
    expectProblem(await test.get(`/campaigns/${key}`), 404, 'not-found');
    expectProblem(await test.delete(`/campaigns/${key}`), 404, 'not-found');
  });

  it('is looked at before it goes out: by analysis, preview and test mail', async () => {
    const key = await draft(test);
    const analysis = await test.get(`/campaigns/${key}/pre-send-analysis`);
    expect(analysis.body).toMatchObject({
      status: 'PASSED',
      audience: { matched: 3, unconfirmed: 0, suppressed: 0, bounced: 0, capped: 0, willReceive: 3 },
    });
    expect((await test.get(`/campaigns/${key}`)).at('preSendStatus')).toBe('PASSED');
    const preview = await test.get(`/campaigns/${key}/preview?email=READER-2%40example.com`);
    expect(preview.body).toMatchObject({
      subject: 'Hello Reader 2',
      html: expect.stringContaining('Reader 2'),
    });
    expectProblem(await test.get(`/campaigns/${key}/preview?email=nobody%40example.com`), 404, 'not-found');
    expectProblem(await test.get(`/campaigns/${key}/preview?email=nobody`), 400, 'validation-error', {
      errors: { email: expect.any(String) },
    });
    expectProblem(await test.post(`/campaigns/${key}/test`, { emails: [] }), 400, 'validation-error', {
      errors: { emails: expect.any(String) },
    });
    expect((await test.post(`/campaigns/${key}/test`, { emails: ['boss@example.com'] })).status).toBe(202);
    const mail = await eventually('the test mail', async () => {
      const inbox = await test.get('/test-inbox/messages?kind=TEST&to=boss%40example.com');
      return inbox.at<unknown[]>('data').length === 1 ? inbox : null;
    });
    expect(mail.at('data', 0, 'subject')).toBe('Hello Ada');
    expect((await test.get(`/campaigns/${key}/report/statistics`)).at<number>('totalSent')).toBe(0);
  });

  it('is shown with changes that are not stored, in each of its languages', async () => {
    const translations = { de: { subject: 'Hallo {{ subscriber.first_name }}', contentText: 'Neues.' } };
    const key = await draft(test, { translations });
    const shown = await test.post(`/campaigns/${key}/preview`, {});
    expect(shown.body).toMatchObject({ subject: 'Hello Ada', previewText: 'What is new' });
    expect(shown.at('text')).toContain('Hello Ada, here is the news.');
    const changed = await test.post(`/campaigns/${key}/preview`, {
      previewText: '{% if subscriber.first_name == "Ada" %}For {{ subscriber.first_name }}{% endif %}',
      mjml: '<mjml><mj-body><mj-section><mj-column><mj-text>Dear {{ subscriber.first_name }}</mj-text></mj-column></mj-section></mj-body></mjml>',
    });
    expect(changed.body).toMatchObject({ subject: 'Hello Ada', previewText: 'For Ada' });
    expect(changed.at('html')).toContain('Dear Ada');
    const german = await test.post(`/campaigns/${key}/preview`, { locale: 'de-AT' });
    expect(german.body).toMatchObject({ subject: 'Hallo Ada', previewText: null });
    const failed = { severity: expect.any(String), result: 'FAIL' };
    const faulty = '<p>Hi {{ custom.nothing }}</p><script>alert(1)</script>';
    expect((await test.post(`/campaigns/${key}/preview`, { html: faulty })).at('checks')).toEqual(
      expect.arrayContaining([
        { ...failed, code: 'merge-tags', message: 'Merge tags: {{ custom.nothing }} is not known.' },
        { ...failed, code: 'removed-content', message: expect.stringContaining('<script>') },
      ]),
    );
    const ofGerman = german.at<{ code: string }[]>('checks').map(({ code }) => code);
    expect([ofGerman, shown.at('checks')]).toEqual([['preview-text'], []]);
    const reader = await test.post(`/campaigns/${key}/preview`, { email: 'reader-2@example.com' });
    expect(reader.at('subject')).toBe('Hello Reader 2');
    const broken = { contentJson: JSON.stringify({ blocks: [{ type: 'button', label: 'Go' }] }) };
    expectProblem(await test.post(`/campaigns/${key}/preview`, broken), 422, 'domain-validation', {
      errors: { 'contentJson.blocks[0].url': expect.any(String) },
    });
    const { preSendStatus, contentJson, previewText } = (await test.get(`/campaigns/${key}`)).body as Record<
      string,
      unknown
    >;
    expect([preSendStatus, contentJson, previewText]).toEqual([null, null, 'What is new']);
  });

  it('is duplicated, once for an Idempotency-Key, and sent again to those who did not open it', async () => {
    const schedule = { scheduledAt: soon(DAY_MS), sendStrategy: 'SCHEDULED' };
    const translations = { de: { subject: 'Hallo' } };
    const key = await draft(test, { ...schedule, translations, metadata: { team: 'north' } });
    const again = { headers: { 'idempotency-key': 'copy-1' }, body: { name: 'Second' } };
    const copied = await test.request('POST', `/campaigns/${key}/duplicate`, again);
    const repeated = await test.request('POST', `/campaigns/${key}/duplicate`, again);
    expect([copied.status, repeated.status, repeated.body]).toEqual([201, 201, copied.body]);
    const original = await test.get(`/campaigns/${key}`);
    for (const field of ['subject', 'contentText', 'translations', 'topicIds', 'segmentIds', 'metadata'])
      expect([field, copied.at(field)]).toEqual([field, original.at(field)]);
    expect(copied.body).toMatchObject({ status: 'DRAFT', name: 'Second', resendOf: null });
    expect(copied.body).toMatchObject({ scheduledAt: null, sendStrategy: null });
    const copyKey: string = copied.at('campaignKey');
    expect(copyKey).not.toBe(key);
    expect(copied.headers.get('location')).toMatch(new RegExp(`/campaigns/${copyKey}$`));

    const resend = { resendTo: 'NOT_OPENED' };
    expectProblem(await test.post(`/campaigns/${key}/duplicate`, resend), 409, 'invalid-state', {
      currentState: 'DRAFT',
      allowedStates: ['SENT'],
    });
    expectProblem(
      await test.post(`/campaigns/${key}/duplicate`, { resendTo: 'OPENED', scheduledAt: null }),
      400,
      'validation-error',
      { errors: { resendTo: expect.any(String), scheduledAt: expect.any(String) } },
    );
    const reader = 'opened+again@example.com';
    const consent = { source: 'form' };
    const topic = await test.post('/topics', { name: 'Again', doubleOptInEnabled: false });
    for (const email of [reader, 'silent+again@example.com'])
      await test.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
    const first = await draft(test, { topicIds: [topic.at('id')] });
    await act(test, first, 'send');
    await becomes(test, first, 'SENT');
    await eventually('one is opened', async () => {
      const statistics = await test.get(`/campaigns/${first}/report/statistics`);
      return statistics.at<number>('uniqueOpens') === 1;
    });
    const second = await test.post(`/campaigns/${first}/duplicate`, resend);
    expect([second.status, second.at('resendOf'), second.at('name')]).toEqual([201, first, 'News']);
    await act(test, second.at('campaignKey'), 'send');
    await becomes(test, second.at('campaignKey'), 'SENT');
    const deliveries = await test.get(`/campaigns/${second.at('campaignKey')}/deliveries`);
    expect(deliveries.at<{ email: string }[]>('data').map(({ email }) => email)).toEqual([
      'silent+again@example.com',
    ]);
  });

  it('keeps the links of its mails working when it is cancelled and deleted', async () => {
    const key = await draft(test);
    await act(test, key, 'send');
    await becomes(test, key, 'SENT');
    expectProblem(await test.delete(`/campaigns/${key}`), 409, 'invalid-state', {
      currentState: 'SENT',
      allowedStates: ['DRAFT', 'SCHEDULED', 'FAILED', 'CANCELLED'],
    });
    // As if it had been cancelled just before the end.
    await system.database.query(
      `update messaging.campaigns set status = 'CANCELLED' where campaign_key = $1 and environment_id = $2`,
      [key, project.test.environmentId],
    );
    expect((await test.delete(`/campaigns/${key}`)).status).toBe(204);
    const listed = (await test.get('/campaigns?size=100')).at<{ campaignKey: string }[]>('data');
    expect(listed.map(({ campaignKey }) => campaignKey)).not.toContain(key);
    for (const path of ['', '/deliveries', '/report/statistics', '/preview', '/pre-send-analysis'])
      expectProblem(await test.get(`/campaigns/${key}${path}`), 404, 'not-found');
    const inbox = await test.get('/test-inbox/messages?kind=CAMPAIGN&size=1');
    const page = await fetch(inbox.at('data', 0, 'links', 'unsubscribe'));
    expect(page.status).toBe(200);
  });

  it('is paused, goes on and reaches everybody once', async () => {
    const key = await draft(live);
    const before = await relay.mails();
    const count = async () => (await relay.mails()).length - before.length;
    await relay.hold(SENT_FIRST);
    await act(live, key, 'send');
    await eventually('some are sent', async () => (await count()) === SENT_FIRST);
    const paused = await act(live, key, 'pause');
    expect([paused.status, paused.at('status')]).toEqual([200, 'PAUSED']);
    await relay.release();
    expectProblem(await act(live, key, 'pause'), 409, 'invalid-state', {
      currentState: 'PAUSED',
      allowedStates: ['SENDING'],
    });
    await eventually('nothing is claimed any more', async () => {
      const open = await system.database.query(
        'select from messaging.deliveries where lease_token is not null and environment_id = $1',
        [project.live.environmentId],
      );
      return open.length === 0;
    });
    const connections = Number(system.variables['SMTP_CONNECTIONS']);
    expect((await count()) - SENT_FIRST).toBeLessThanOrEqual(connections);
    expect(
      (await live.get(`/campaigns/${key}/deliveries?status=PENDING`)).at('pagination', 'totalElements'),
    ).toBe(RECIPIENTS - (await count()));
    expect((await act(live, key, 'resume')).at('status')).toBe('SENDING');
    await becomes(live, key, 'SENT');
    const after = (await relay.mails()).slice(before.length);
    expect(after).toHaveLength(RECIPIENTS);
    expect(new Set(after.flatMap(({ to }) => to)).size).toBe(RECIPIENTS);
    const again = await act(live, key, 'retry-failed');
    expect([again.status, again.at('status')]).toEqual([200, 'SENT']);
  });

  it('is cancelled while it is sent, and what waits is given up', async () => {
    const key = await draft(live);
    const before = (await relay.mails()).length;
    const count = async () => (await relay.mails()).length - before;
    await relay.hold(SENT_FIRST);
    await act(live, key, 'send');
    await eventually('some are sent', async () => (await count()) === SENT_FIRST);
    expect((await act(live, key, 'cancel')).at('status')).toBe('CANCELLED');
    await relay.release();
    const total = async (status: string) =>
      (await live.get(`/campaigns/${key}/deliveries?status=${status}&size=1`)).at<number>(
        'pagination',
        'totalElements',
      );
    await eventually(
      'nothing is open',
      async () => (await total('SENT')) + (await total('CANCELLED')) === RECIPIENTS,
    );
    expect(await total('SENT')).toBe(await count());
    expect(await total('CANCELLED')).toBeGreaterThan(0);
    expect((await live.get(`/campaigns/${key}`)).at('completedAt')).toBeNull();
  });
});
