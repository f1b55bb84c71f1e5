import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { eventually } from '#testing/time/eventually';
import { TraceCollector } from '#testing/servers/trace-collector';
import { OtlpTracer, type TracingConfig } from './otlp-tracer.js';
import {
  beginSpan,
  currentTraceparent,
  readTraceparent,
  traced,
  tracedWithin,
  useTracer,
  withinSpan,
} from './tracing.js';

const GIVEN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const WORK = { name: 'work', kind: 'internal', parent: null } as const;

describe('traces', () => {
  let collector: TraceCollector;
  let registry: Registry;
  let lines: { readonly msg: string; readonly spans: number; readonly reason: string }[];
  let tracer: OtlpTracer;

  beforeEach(async () => {
    collector = await TraceCollector.open();
  });

  afterEach(async () => {
    useTracer(undefined);
    await tracer?.close();
    collector.close();
  });

  function open(settings: Partial<TracingConfig> = {}): void {
    registry = new Registry();
    lines = [];
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(JSON.parse(String(chunk)));
        done();
      },
    });
    tracer = new OtlpTracer(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: undefined,
        OTEL_SERVICE_NAME: undefined,
        OTEL_TRACES_SAMPLER: 'parentbased_always_on',
        OTEL_TRACES_SAMPLER_ARG: 1,
        ...settings,
      },
      { name: 'spec', registry, logger: pino(stream) },
    );
    useTracer(tracer);
  }

  async function counted(result: string): Promise<number> {
    const { values } = await registry.getSingleMetric('mailwright_trace_spans_total')!.get();
    return values.find(({ labels }) => labels['result'] === result)!.value;
  }

  it('are exported when the program ends, with the headers of the collector', async () => {
    open({ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret, x-team = mail', OTEL_SERVICE_NAME: 'ours' });
    await traced(WORK, () => tracedWithin({ name: 'part', kind: 'client' }, async () => undefined));
    await tracer.close();
    expect(collector.headers[0]).toMatchObject({ 'x-key': 'a secret', 'x-team': 'mail' });
    const [whole, part] = ['work', 'part'].map((name) => collector.spans.find((span) => span.name === name)!);
    expect(part).toMatchObject({ service: 'ours', traceId: whole!.traceId, parentSpanId: whole!.spanId });
    expect(await counted('exported')).toBe(2);
  });

  it('go on from a span of another program', async () => {
    open();
    const traceparent = await traced({ ...WORK, parent: GIVEN }, async () => currentTraceparent());
    expect(traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[\da-f]{16}-01$/);
    const unsampled = GIVEN.replace(/01$/, '00');
    expect(await traced({ ...WORK, parent: unsampled }, async () => currentTraceparent())).toMatch(/-00$/);
  });

  it('tell the code of an error, and not what it says', async () => {
    open();
    const failing = traced(WORK, () => Promise.reject(new TypeError('ada@example.com is wrong')));
    await expect(failing).rejects.toThrow('ada@example.com');
    await tracer.close();
    expect(collector.spans[0]).toMatchObject({
      attributes: { 'error.type': 'TypeError' },
      status: { code: 2 },
    });
    expect(collector.bodies.join('')).not.toContain('ada@');
  });

  it('begin nothing by themselves, nor for what outlasts its span', async () => {
    open();
    const span = beginSpan(WORK);
    await withinSpan(span, async () => {
      span?.end();
      expect(currentTraceparent()).toBeNull();
      await tracedWithin({ name: 'late', kind: 'client' }, async () => undefined);
    });
    await tracedWithin({ name: 'apart', kind: 'client' }, async () => undefined);
    await tracer.close();
    expect(collector.spans.map(({ name }) => name)).toEqual(['work']);
  });

  it('are left out where the sampler says so, with all their parts', async () => {
    open({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: 0 });
    const traceparent = await traced(WORK, async () => {
      await tracedWithin({ name: 'part', kind: 'client' }, async () => undefined);
      return currentTraceparent();
    });
    expect(traceparent).toMatch(/-00$/);
    await tracer.close();
    expect(collector.spans).toEqual([]);
  });

  it('are dropped and counted when the collector hangs; nothing waits for it, and one line tells', async () => {
    collector.status = null;
    open();
    const begun = performance.now();
    for (let n = 0; n < 6_000; n += 1) await traced(WORK, async () => undefined);
    expect(await counted('dropped')).toBeGreaterThan(1_000);
    await tracer.close();
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect((await counted('dropped')) + (await counted('exported'))).toBe(6_000);
    expect(lines.map(({ msg }) => msg)).toEqual(['spans of traces are lost']);
  });

  it('are lost when the collector refuses them', async () => {
    collector.status = 400;
    open();
    await traced(WORK, async () => undefined);
    await eventually('the refusal to be counted', async () => (await counted('failed')) === 1);
    expect(lines).toEqual([
      expect.objectContaining({ spans: 1, reason: expect.stringContaining('Bad Request') }),
    ]);
  });
});

describe('a traceparent', () => {
  it.each([
    [GIVEN, GIVEN],
    [`cc-${GIVEN.slice(3)}-what-the-future-will-be-like`, `cc-${GIVEN.slice(3)}`],
    [`${GIVEN}-more`, null],
    [`ff-${GIVEN.slice(3)}`, null],
    ['00-00000000000000000000000000000000-b7ad6b7169203331-01', null],
    ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01', null],
    [GIVEN.toUpperCase(), null],
    ['ada@example.com', null],
    [undefined, null],
  ])('%s is read as %s', (header, read) => {
    expect(readTraceparent(header)).toBe(read);
  });
});
