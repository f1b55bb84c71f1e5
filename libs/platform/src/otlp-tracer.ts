import {
  type Context,
  type Link,
  type Span as OtelSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { newId, withTimeout } from '#kernel';
import type { Config } from './config.js';
import { describeError } from './logger.js';
import type { Span, SpanAttributes, TracedWork, Tracer, Work } from './tracing.js';

/** Spans that have ended and are not exported yet, at most: those that end meanwhile are dropped. */
const MAX_SPANS = 4_096;
const BATCH = 512;
const EXPORT_EVERY_MS = 2_000;
/** Time for one batch, further tries included. */
const EXPORT_TIMEOUT_MS = 10_000;
const CLOSING_MS = 1_000;
const LOGGED_EVERY_MS = 60_000;

export type TracingConfig = Pick<
  Config,
  'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_SERVICE_NAME' | 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'
> & { readonly OTEL_EXPORTER_OTLP_ENDPOINT: string };

type CollectorConfig = Pick<TracingConfig, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS'>;

export interface TracedProgram {
  /** Name of the service, unless `OTEL_SERVICE_NAME` says another. */
  readonly name: string;
  readonly registry: Registry;
  readonly logger: Logger;
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const;

/** OpenTelemetry's SDK, which exports spans as OTLP/HTTP with JSON. Nothing waits for it: what it cannot export is dropped and counted. */
export class OtlpTracer implements Tracer {
  readonly #provider: TracerProvider;
  readonly #spans: BoundedSpans;
  readonly #tracer: OtelTracer;

  constructor(config: TracingConfig, { name, registry, logger }: TracedProgram) {
    this.#spans = new BoundedSpans(exporterOf(config, EXPORT_TIMEOUT_MS), registry, logger);
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': config.OTEL_SERVICE_NAME ?? name,
        'service.instance.id': newId(),
      }),
      sampler: samplerOf(config),
      spanProcessors: [this.#spans],
    });
    this.#tracer = this.#provider.getTracer('mailwright');
  }

  begin({ parent, link, ...work }: TracedWork): Span {
    const remote = parent === null ? null : contextOf(parent);
    const context = remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
    const led = link === undefined || link === null ? null : contextOf(link);
    return beginIn(this.#tracer, work, context, led === null ? [] : [{ context: led }]);
  }

  async close(): Promise<void> {
    const closing = this.#provider.shutdown().catch(() => undefined);
    await withTimeout(closing, CLOSING_MS, () => undefined);
    this.#spans.giveUp();
  }
}

function beginIn(tracer: OtelTracer, work: Work, context: Context, links: Link[]): Span {
  const { name, kind, attributes = {} } = work;
  const begun = { kind: KINDS[kind], attributes: given(attributes), links };
  return new BegunSpan(tracer, tracer.startSpan(name, begun, context));
}

class BegunSpan implements Span {
  #isOver = false;

  constructor(
    private readonly tracer: OtelTracer,
    private readonly span: OtelSpan,
  ) {}

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isRecording(): boolean {
    return !this.#isOver && this.span.isRecording();
  }

  part(work: Work): Span {
    return beginIn(this.tracer, work, trace.setSpan(ROOT_CONTEXT, this.span), []);
  }

  set(attributes: SpanAttributes): void {
    this.span.setAttributes(given(attributes));
  }

  fail(code: string): void {
    this.span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.span.end();
  }
}

/** Hands ended spans on in batches as long as there is room, and counts what becomes of them. */
class BoundedSpans implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #counted: Counter<'result'>;
  #waiting = 0;
  #unsaid = 0;
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(
    exporter: SpanExporter,
    registry: Registry,
    private readonly logger: Logger,
  ) {
    this.#counted = new Counter({
      name: 'mailwright_trace_spans_total',
      help: 'Spans of traces, by what became of them.',
      labelNames: ['result'],
      registers: [registry],
    });
    for (const result of ['exported', 'failed', 'dropped']) this.#counted.inc({ result }, 0);
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) =>
          exporter.export(spans, (result) => {
            this.#ended(spans.length, result.error);
            done(result);
          }),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: MAX_SPANS,
      maxExportBatchSize: BATCH,
      scheduledDelayMillis: EXPORT_EVERY_MS,
    });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= MAX_SPANS) return this.#lost('dropped', 1, 'They are not exported fast enough.');
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  /** Counts what waits as dropped: the process ends. */
  giveUp(): void {
    if (this.#waiting > 0) this.#lost('dropped', this.#waiting, 'The program ends.');
    this.#waiting = 0;
  }

  #ended(spans: number, error: Error | undefined): void {
    this.#waiting = Math.max(0, this.#waiting - spans);
    if (error === undefined) this.#counted.inc({ result: 'exported' }, spans);
    else this.#lost('failed', spans, describeError(error));
  }

  /** One line a minute at most, with all since the last. */
  #lost(result: 'failed' | 'dropped', spans: number, reason: string): void {
    this.#counted.inc({ result }, spans);
    this.#unsaid += spans;
    if (performance.now() - this.#saidAt < LOGGED_EVERY_MS) return;
    this.logger.warn({ spans: this.#unsaid, reason }, 'spans of traces are lost');
    this.#saidAt = performance.now();
    this.#unsaid = 0;
  }
}

/** The samplers of the standard (OpenTelemetry, "General SDK Configuration"). */
function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: TracingConfig): Sampler {
  const root = name.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(ratio)
    : name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new AlwaysOnSampler();
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function exporterOf(config: CollectorConfig, timeoutMillis: number): OTLPTraceExporter {
  return new OTLPTraceExporter({
    url: `${config.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/+$/, '')}/v1/traces`,
    headers: headersOf(config.OTEL_EXPORTER_OTLP_HEADERS ?? ''),
    timeoutMillis,
  });
}

/** Exports no span, to see whether the collector takes them; null: it does. */
export async function collectorFailure(config: CollectorConfig, timeoutMs: number): Promise<string | null> {
  const exporter = exporterOf(config, timeoutMs);
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  exporter.export([], ({ error }) => resolve(error));
  const error = await promise;
  await exporter.shutdown();
  return error?.message ?? null;
}

/** `name=value` with commas between them, each percent-encoded. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...value] = pair.split('=').map((part) => part.trim());
      return [decodeURIComponent(name), decodeURIComponent(value.join('='))];
    }),
  );
}

/** The span that a valid `traceparent` names. */
function contextOf(traceparent: string): SpanContext | null {
  const [, traceId, spanId, flags] = traceparent.split('-');
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

function given(attributes: SpanAttributes): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      (entry): entry is [string, string | number] => entry[1] !== null && entry[1] !== undefined,
    ),
  );
}
