import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot, SPAN_ATTRIBUTES } from '#platform';
import { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { type CollectedSpan, TraceCollector } from '#testing/servers/trace-collector';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';

const EMAIL = 'ada.lovelace@people.example';
const GIVEN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
/** Data of a person, of what they are sent, and of the project: none of it may leave in a trace. */
const PRIVATE = [
  'lovelace',
  'Augusta',
  'Byron',
  'Engines',
  'weaves',
  'order-4711',
  '203.0.113.7',
  '127.0.0.1',
  'wonder',
];

describe('traces from a request to a mail', () => {
  let collector: TraceCollector;
  let receiver: WebhookReceiver;
  let system: RunningSystem;
  let client: ApiClient;
  const secrets: string[] = [];

  beforeAll(async () => {
    collector = await TraceCollector.open();
    receiver = await WebhookReceiver.open();
    system = await startSystem({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OUTGOING_PRIVATE_ADDRESSES: 'true',
    });
    client = await (await system.project()).client('TEST');
    const endpoint = await client.post('/webhook-endpoints', { url: receiver.url });
    secrets.push(client.key ?? '', endpoint.at('secret'));
    await receiver.untilKnown(client);
  });

  afterAll(async () => {
    await system?.stop();
    receiver?.close();
    collector?.close();
  });

  const span = (what: string, matches: (span: CollectedSpan) => boolean): Promise<CollectedSpan> =>
    eventually(
      () => `the span of ${what} among ${[...new Set(collector.spans.map(({ name }) => name))].join(', ')}`,
      () => collector.spans.find(matches),
    );
  const request = (requestId: string | null) =>
    span('the request', ({ attributes }) => attributes['mailwright.request_id'] === requestId);
  const partOf = (whole: CollectedSpan, name: string) =>
    span(name, (each) => each.name === name && each.parentSpanId === whole.spanId);
  const linksOf = async (email: string, kind: string) =>
    eventually(`a ${kind} mail`, async () => {
      const inbox = await client.get(`/test-inbox/messages?kind=${kind}&to=${encodeURIComponent(email)}`);
      return inbox.at<Record<string, string> | undefined>('data', 0, 'links') ?? null;
    });

  it('lead from a message to its mail and to the webhook that tells of it', async () => {
    const sent = await client.post('/messages', {
      to: { email: EMAIL, name: 'Augusta' },
      purpose: 'They wonder.',
      subject: 'Engines for {{ data.order }}',
      text: 'It weaves, {{ data.order }}.',
      data: { order: 'order-4711' },
    });
    const whole = await request(sent.headers.get('x-request-id'));
    expect(whole).toMatchObject({
      name: 'POST /api/v1/messages',
      service: 'mailwright-api',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/v1/messages',
        'http.response.status_code': 202,
      },
    });
    expect(whole.parentSpanId).toBeUndefined();
    await span(
      'the change',
      ({ name, parentSpanId, attributes }) =>
        name === 'transaction' &&
        parentSpanId === whole.spanId &&
        String(attributes['db.query.summary']).includes('accept_messages'),
    );
    const mail = await partOf(whole, 'mail');
    expect(mail).toMatchObject({
      traceId: whole.traceId,
      service: 'mailwright-worker',
      attributes: {
        'mailwright.kind': 'MESSAGE',
        'mailwright.delivery_id': sent.at('id'),
        'mailwright.result': 'SENT',
      },
    });
    const webhook = await span(
      'message.sent',
      ({ name, traceId, attributes }) =>
        name === 'webhook' &&
        traceId === whole.traceId &&
        attributes['mailwright.event_type'] === 'message.sent',
    );
    expect(webhook).toMatchObject({ traceId: whole.traceId, parentSpanId: whole.spanId });
    const told = receiver.posts.find(
      ({ body }) => body.includes('"message.sent"') && body.includes(sent.at('id')),
    );
    expect(told?.headers['traceparent']).toBe(`00-${webhook.traceId}-${webhook.spanId}-01`);
  });

  it('lead from a subscription to the mail that asks for a confirmation', async () => {
    const topic = await client.post('/topics', { name: 'Engines', doubleOptInEnabled: true });
    const signedUp = await client.post('/subscribers', {
      email: EMAIL,
      firstName: 'Augusta',
      lastName: 'Byron',
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'form', ipAddress: '203.0.113.7' },
    });
    const whole = await request(signedUp.headers.get('x-request-id'));
    const mail = await span(
      'the opt-in mail',
      ({ name, attributes }) => name === 'mail' && attributes['mailwright.kind'] === 'OPT_IN',
    );
    expect(mail.traceId).toBe(whole.traceId);
    const { confirm = '' } = await linksOf(EMAIL, 'OPT_IN');
    secrets.push(confirm.slice(confirm.lastIndexOf('/') + 1));
    expect((await fetch(confirm, { method: 'POST' })).status).toBe(200);
    const page = await span('the page', ({ name }) => /^POST \/(?!api)/.test(name));
    expect(page.attributes['http.route']).toMatch(/:\w+$/);
  });

  it('lead from a campaign to the job that queues its mails, each of which begins a trace of its own', async () => {
    const [topic] = (await client.get('/topics')).at<{ id: string }[]>('data');
    const created = await client.post('/campaigns', {
      name: 'Engines',
      subject: 'Engines for {{ subscriber.first_name }}',
      contentJson: JSON.stringify({ blocks: [{ type: 'text', html: '<p>It weaves.</p>' }] }),
      topicIds: [topic?.id],
    });
    const previewed = await client.post(`/campaigns/${created.at('campaignKey')}/preview`, {
      subject: 'Engines, again',
    });
    const preview = await request(previewed.headers.get('x-request-id'));
    await span('content', ({ name, traceId }) => name.startsWith('content ') && traceId === preview.traceId);
    const queued = await client.post(`/campaigns/${created.at('campaignKey')}/send`);
    const whole = await request(queued.headers.get('x-request-id'));
    expect(whole.name).toBe('POST /api/v1/campaigns/:campaignKey/send');
    const job = await partOf(whole, 'job campaigns.expand');
    expect(job.attributes).toMatchObject({ 'mailwright.queue': 'campaigns', 'mailwright.result': 'done' });
    const mail = await span('the mail', ({ attributes }) => attributes['mailwright.kind'] === 'CAMPAIGN');
    expect(mail.parentSpanId).toBeUndefined();
    expect(mail.links).toEqual([expect.objectContaining({ traceId: whole.traceId, spanId: job.spanId })]);
    const { unsubscribe = '' } = await linksOf(EMAIL, 'CAMPAIGN');
    secrets.push(unsubscribe.slice(unsubscribe.lastIndexOf('/') + 1));
  });

  it('are not begun by a client’s traceparent, which they name', async () => {
    const answer = await client.get('/topics', { headers: { traceparent: GIVEN } });
    const whole = await request(answer.headers.get('x-request-id'));
    expect(whole.parentSpanId).toBeUndefined();
    expect(whole.traceId).not.toBe(GIVEN.split('-')[1]);
    expect(whole.links).toEqual([expect.objectContaining({ traceId: GIVEN.split('-')[1] })]);
  });

  it('tell why a request was refused', async () => {
    const refused = await client.get('/campaigns/NONE-1');
    const whole = await request(refused.headers.get('x-request-id'));
    expect(whole.attributes).toMatchObject({
      'http.response.status_code': 404,
      'mailwright.reason': 'not-found',
    });
    expect(whole.status?.code ?? 0).toBe(0);
  });

  it('go on with those of clients that are trusted, and begin as many as the sampler says', async () => {
    const api = await startProgram('api', {
      ...system.variables,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of%20the%20collector',
      OTEL_SERVICE_NAME: 'ours',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
      TRUST_TRACEPARENT: 'true',
    });
    const trusted = new ApiClient(`http://127.0.0.1:${api.port}`, client.key);
    await trusted.get('/topics');
    await trusted.get('/topics', { headers: { traceparent: GIVEN } });
    await api.stop();
    const own = collector.spans.filter(({ service }) => service === 'ours');
    const [, traceId, spanId] = GIVEN.split('-');
    expect(own.filter(({ name }) => name === 'GET /api/v1/topics')).toEqual([
      expect.objectContaining({ traceId, parentSpanId: spanId }),
    ]);
    expect(new Set(own.map((each) => each.traceId))).toEqual(new Set([traceId]));
    expect(collector.headers.at(-1)?.['x-key']).toBe('of the collector');
  });

  it('hold nothing about people, content, keys and addresses, in whichever attribute', async () => {
    // Spans are exported when they end.
    const last = await client.get('/topics');
    await system.api.stop();
    await system.worker.stop();
    const requestId = last.headers.get('x-request-id');
    expect(collector.spans.map(({ attributes }) => attributes['mailwright.request_id'])).toContain(requestId);
    const names = new Set(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)));
    const known: ReadonlySet<string> = new Set(SPAN_ATTRIBUTES);
    expect([...names].filter((name) => !known.has(name))).toEqual([]);
    const documented = readFileSync(join(projectRoot(), 'docs/tracing.md'), 'utf8');
    expect(SPAN_ATTRIBUTES.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
    // Every attribute is looked at, but for that of a project's own relay.
    const unseen = SPAN_ATTRIBUTES.filter((name) => !names.has(name));
    expect(unseen).toEqual(['mailwright.relay']);
    const all = collector.bodies.join('\n');
    for (const text of [...PRIVATE, ...secrets]) {
      expect(text.length).toBeGreaterThan(3);
      expect([text, all.includes(text)]).toEqual([text, false]);
    }
    expect(all).not.toContain('@');
  });
});
