import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Names of all attributes of spans, which docs/tracing.md explains. Their values are ids, codes and counts: never an address, a name,
 * a text or a secret.
 */
export const SPAN_ATTRIBUTES = [
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'db.system.name',
  'db.query.summary',
  'error.type',
  'mailwright.request_id',
  'mailwright.environment_id',
  'mailwright.job',
  'mailwright.queue',
  'mailwright.attempt',
  'mailwright.result',
  'mailwright.delivery_id',
  'mailwright.source_id',
  'mailwright.kind',
  'mailwright.relay',
  'mailwright.reason',
  'mailwright.reply_code',
  'mailwright.endpoint_id',
  'mailwright.event_id',
  'mailwright.event_type',
] as const;

/** Values by their names; null and undefined are left out. */
export type SpanAttributes = Readonly<
  Partial<Record<(typeof SPAN_ATTRIBUTES)[number], string | number | null | undefined>>
>;

/** A part of work, as it begins. */
export interface Work {
  /** One of few: without ids. */
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'consumer';
  readonly attributes?: SpanAttributes;
}

/** Work that continues what was begun elsewhere, or begins a trace. */
export interface TracedWork extends Work {
  /** `traceparent` of the span that it is a part of; null: it begins a trace. */
  readonly parent: string | null;
  /** `traceparent` of a span of another trace that led to it. */
  readonly link?: string | null;
}

/** Work under way, with its beginning, end and attributes. */
export interface Span {
  /** W3C Trace Context §3.2, for who continues it. */
  readonly traceparent: string;
  readonly isOver: boolean;
  /** False of one that is over, or is not sampled: parts of it are left out. */
  readonly isRecording: boolean;
  /** Begins a part of it. */
  part(work: Work): Span;
  set(attributes: SpanAttributes): void;
  /** Marks it as failed, by a code. */
  fail(code: string): void;
  end(): void;
}

/** Begins spans and exports those that have ended. */
export interface Tracer {
  begin(work: TracedWork): Span;
  /** Exports what it has, within a second; never rejects. */
  close(): Promise<void>;
}

let tracer: Tracer | undefined;
const current = new AsyncLocalStorage<Span>();

/** Sets the tracer of this process. Without one, nothing is traced, and nothing is loaded for it. */
export function useTracer(given: Tracer | undefined): void {
  tracer = given;
}

/** Begins a span that its caller ends; none where nothing is traced. */
export function beginSpan(work: TracedWork): Span | null {
  return tracer?.begin(work) ?? null;
}

/** Runs `work`, and what it begins, as a part of a span. */
export function withinSpan<T>(span: Span | null, work: () => T): T {
  return span === null ? work() : current.run(span, work);
}

/** Runs `work` in a span. */
export function traced<T>(of: TracedWork, work: (span: Span | null) => Promise<T>): Promise<T> {
  const span = beginSpan(of);
  return span === null ? work(null) : runIn(span, work);
}

/** Runs `work` in a span if it is a part of something that is traced: what looks for work begins no traces. */
export function tracedWithin<T>(of: Work, work: (span: Span | null) => Promise<T>): Promise<T> {
  const whole = current.getStore();
  return whole?.isRecording === true ? runIn(whole.part(of), work) : work(null);
}

/** `traceparent` of the work that runs, sampled or not, so that who continues it decides alike; null where nothing is traced. */
export function currentTraceparent(): string | null {
  const span = current.getStore();
  return span === undefined || span.isOver ? null : span.traceparent;
}

async function runIn<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await current.run(span, () => work(span));
  } catch (error) {
    span.fail(codeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

const CODE = /^[\w-]{2,40}$/;

/** The code of an error (of Node, a SQLSTATE), or its class: what it says may hold anything. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  const code = 'code' in error ? String(error.code) : '';
  return CODE.test(code) ? code : error.constructor.name;
}

const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/;

/** The header where it is valid: later versions may have more fields (W3C Trace Context §4.2). */
export function readTraceparent(header: unknown): string | null {
  const [, version, more] = (typeof header === 'string' ? TRACEPARENT.exec(header) : null) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return null;
  return (header as string).slice(0, 55);
}
