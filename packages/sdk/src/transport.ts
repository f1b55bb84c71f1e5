import { MailwrightConnectionError, MailwrightError, type Problem, type ProblemSlug } from './errors.js';
import type { Answer, OperationId } from './operations.js';

export interface MailwrightOptions {
  /** `mw_live_…` or `mw_test_…`; `mw_op_…` for the operator's API. */
  readonly apiKey: string;
  /** Base URL of the installation, without `/api/v1`, e.g. `https://mail.example.com`. */
  readonly baseUrl: string;
  /** Retries of a request when the API is busy, for a minute at most, or cannot be reached. Default: 3. */
  readonly maxRetries?: number | undefined;
  /** For one attempt, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number | undefined;
  /** Default: the platform's own. */
  readonly fetch?: typeof fetch | undefined;
}

/** Options of every call. */
export interface CallOptions {
  /** For a POST: makes two calls the same one. Default: a new one for each call, kept over its retries. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of a list: `signal` aborts the page that is being fetched, and all that follow. */
export type ListOptions = Pick<CallOptions, 'signal'>;

/** Options of a call that reads. */
export interface ReadOptions extends CallOptions {
  /** The properties to answer with, such as `email,customFields.plan`; others are then missing, whatever the type says. */
  readonly fields?: string | undefined;
}

/** Method and path of an operation, its parameters in braces. */
export type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** The parts of one request. */
export interface Call extends ReadOptions {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: object;
  readonly json?: unknown;
  /** Sent as CSV. */
  readonly csv?: string | Blob;
  /** Sent as it is, with its type. */
  readonly file?: Blob;
  readonly headers?: Readonly<Record<string, string>>;
  /** The type of an answer that is text. Default: JSON. */
  readonly answerType?: string;
}

/** A response whose body was read to its end. */
interface WholeResponse {
  readonly response: Response;
  readonly body: string;
}

const JSON_TYPE = 'application/json';
const RETRIED = new Set([429, 500, 502, 503, 504]);
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 60_000;

/** Sends requests, again where that is safe and may help, and turns problems into errors. */
export class Transport {
  readonly #options: { readonly [Name in keyof MailwrightOptions]-?: NonNullable<MailwrightOptions[Name]> };

  /** `root` is the path of the API below `baseUrl`. Throws a `TypeError` when `apiKey` or `baseUrl` cannot be right. */
  constructor(
    options: MailwrightOptions,
    private readonly root: '/api/v1' | '/operator/v1' = '/api/v1',
  ) {
    const { apiKey, baseUrl, maxRetries = 3, timeoutMs = 30_000 } = options;
    refuseWrongApiKey(apiKey);
    refuseWrongBaseUrl(baseUrl);
    const { fetch: send = (...args: Parameters<typeof fetch>) => fetch(...args) } = options;
    this.#options = { apiKey, baseUrl, maxRetries, timeoutMs, fetch: send };
  }

  /** Throws `MailwrightError` and `MailwrightConnectionError`. */
  async call<Id extends OperationId>(route: Route, call: Call = {}): Promise<Answer<Id>> {
    const { response, body } = await this.#send(route, call);
    const { status, headers } = response;
    if (status === 204 || (status === 202 && body === '')) return undefined as Answer<Id>;
    const { answerType = JSON_TYPE } = call;
    const [type = ''] = (headers.get('content-type') ?? '').toLowerCase().split(';');
    if (type.trim() !== answerType) throw this.#wrongAnswer(answerType, type.trim() || 'no type');
    if (answerType !== JSON_TYPE) return body as unknown as Answer<Id>;
    try {
      return JSON.parse(body) as Answer<Id>;
    } catch (cause) {
      throw this.#wrongAnswer(answerType, 'broken JSON', { cause });
    }
  }

  /** A proxy in between may answer with a page of its own. */
  #wrongAnswer(wanted: string, given: string, options?: ErrorOptions): MailwrightConnectionError {
    const message = `The API at ${this.#options.baseUrl} answered with ${given} instead of ${wanted}.`;
    return new MailwrightConnectionError(message, options);
  }

  async #send(route: Route, call: Call): Promise<WholeResponse> {
    const [method = '', template = ''] = route.split(' ');
    const url = this.#urlOf(template, call);
    const init = this.#initOf(method, call);
    for (let retries = 0; ; retries += 1) {
      const last = retries >= this.#options.maxRetries;
      const outcome = await this.#attempt(url, init, call.signal);
      const isConnectionError = outcome instanceof MailwrightConnectionError;
      if (!isConnectionError && outcome.response.ok) return outcome;
      const error = isConnectionError ? outcome : problemOf(outcome);
      if (last || call.signal?.aborted === true || !mayHelp(error)) throw error;
      const waitMs = waitBefore(error, retries);
      if (waitMs > LONGEST_WAIT_MS) throw error;
      await pause(waitMs, call.signal);
    }
  }

  async #attempt(
    url: string,
    init: RequestInit,
    signal?: AbortSignal,
  ): Promise<WholeResponse | MailwrightConnectionError> {
    const limit = AbortSignal.timeout(this.#options.timeoutMs);
    let failure = 'cannot be reached';
    try {
      const response = await this.#options.fetch(url, {
        ...init,
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      failure = 'broke off its answer';
      return { response, body: await response.text() };
    } catch (cause) {
      if (signal?.aborted === true) return new MailwrightConnectionError('The call was aborted.', { cause });
      if (limit.aborted) failure = 'did not answer in time';
      return new MailwrightConnectionError(`The API at ${this.#options.baseUrl} ${failure}.`, { cause });
    }
  }

  #urlOf(template: string, { path = {}, query = {}, fields }: Call): string {
    const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...query, fields } as Record<
      string,
      string | number | boolean | null | undefined
    >))
      if (value !== undefined && value !== null) search.set(name, String(value));
    return `${this.#options.baseUrl.replace(/\/+$/, '')}${this.root}${filled}${search.size === 0 ? '' : `?${search}`}`;
  }

  #initOf(method: string, { json, csv, file, headers, idempotencyKey }: Call): RequestInit {
    return {
      method,
      headers: {
        'x-api-key': this.#options.apiKey,
        ...(json !== undefined && { 'content-type': JSON_TYPE }),
        ...(csv !== undefined && { 'content-type': 'text/csv' }),
        ...(file !== undefined && { 'content-type': file.type }),
        ...(method === 'POST' && { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(csv !== undefined && { body: csv }),
      ...(file !== undefined && { body: file }),
    };
  }
}

/** No header can carry white space at its ends, and a variable that is not set is empty. */
function refuseWrongApiKey(apiKey: string): void {
  const wrong =
    typeof apiKey !== 'string' || apiKey === '' ? 'is empty' : /\s/.test(apiKey) && 'has white space in it';
  if (wrong) throw new TypeError(`apiKey ${wrong}. It has to be a key of the API, such as mw_test_….`);
}

function refuseWrongBaseUrl(baseUrl: string): void {
  const example = 'such as https://mail.example.com';
  if (!/^https?:\/\/[^/]/i.test(baseUrl) || !URL.canParse(baseUrl))
    throw new TypeError(`baseUrl is "${baseUrl}". It has to be the address of the API, ${example}.`);
  const { username, password } = new URL(baseUrl);
  if (username !== '' || password !== '')
    throw new TypeError('baseUrl has a user or a password in it. The key of the API goes into apiKey.');
  const root = /\/(?:api|operator)\/v1(?=\/*$)/.exec(baseUrl)?.[0];
  if (root !== undefined)
    throw new TypeError(`baseUrl is "${baseUrl}". It has to end before ${root}, ${example}.`);
}

/** A POST carries its idempotency key, and the other methods may be repeated anyway. */
function mayHelp(error: MailwrightError | MailwrightConnectionError): boolean {
  if (error instanceof MailwrightConnectionError) return true;
  return RETRIED.has(error.status) || error.is('idempotency-in-flight');
}

/** The delay that the API asks for, else 250 ms, 500 ms, 1 s … with jitter. */
function waitBefore(error: MailwrightError | MailwrightConnectionError, retries: number): number {
  const asked = error instanceof MailwrightError ? error.retryAfter : null;
  if (asked !== null) return asked * 1_000;
  return Math.min(FIRST_WAIT_MS * 2 ** retries * (0.5 + Math.random()), LONGEST_WAIT_MS);
}

function problemOf({ response, body }: WholeResponse): MailwrightError {
  const { status } = response;
  // A proxy in between may answer without a problem.
  const problem = parsedProblem(body) ?? {
    type: 'about:blank',
    title: `HTTP ${status}`,
    status,
    requestId: '',
  };
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) ? seconds : null;
  const slug = problem.type.split('/').at(-1) ?? '';
  return new MailwrightError(status, slug as ProblemSlug, problem, retryAfter);
}

/** Null where the text is no problem. */
function parsedProblem(text: string): Problem | null {
  try {
    const body: unknown = JSON.parse(text);
    return isProblem(body) ? body : null;
  } catch {
    return null;
  }
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'type' in body && typeof body.type === 'string';
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
