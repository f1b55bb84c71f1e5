import { isIP } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { type AddressesOf, GuardedLookup } from './guarded-lookup.js';
import { OutgoingHttpError } from './outgoing-http.error.js';

const MAX_REDIRECTS = 3;
const MAX_BODY = 1_048_576;
const TIMEOUT_MS = 5_000;
const KEPT_METHOD = [307, 308];
const AS_GET = [301, 302, 303];
/** What must not follow a redirect to another host. */
const CREDENTIALS = ['authorization', 'cookie', 'proxy-authorization'];
const NOT_PUBLIC =
  'must lead to a public address; the operator can allow private ones: OUTGOING_PRIVATE_ADDRESSES';
const NO_ADDRESS = 'must be a name that the DNS knows';
const OUTAGES: ReadonlySet<string> = new Set(['EAI_AGAIN', 'ETIMEOUT', 'ESERVFAIL', 'ECONNREFUSED']);

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How many are followed at most. Default: 3. None where only this host may answer. */
  readonly redirects?: number;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As UTF-8. */
  readonly body: string;
}

export interface Download extends Omit<OutgoingAnswer, 'body'> {
  readonly bytes: Uint8Array;
}

export interface OutgoingHttpOptions {
  readonly addressesOf: AddressesOf;
  /** Which addresses may be spoken to. Default: all. */
  readonly allows?: (address: string) => boolean;
  /** For the whole request, redirects and body included. Default: 5 s. */
  readonly timeoutMs?: number;
}

/**
 * Requests to URLs that customers name. A name is resolved once and the connection goes to that very address, which
 * must be allowed, so a name that changes its answer gains nothing (DNS rebinding). At most 3 redirects, each checked
 * as the first URL was; 5 s; 1 MB.
 */
export class OutgoingHttp {
  readonly #allows: (address: string) => boolean;
  readonly #allowsAll: boolean;
  readonly #timeoutMs: number;
  readonly #guard: GuardedLookup;
  #agent: Promise<Agent> | undefined;

  constructor({ addressesOf, allows, timeoutMs = TIMEOUT_MS }: OutgoingHttpOptions) {
    this.#allows = allows ?? (() => true);
    this.#allowsAll = allows === undefined;
    this.#timeoutMs = timeoutMs;
    this.#guard = new GuardedLookup(addressesOf, this.#allows);
  }

  /** The answer, whatever its status; an `OutgoingHttpError` when there is none. */
  async request(request: OutgoingRequest): Promise<OutgoingAnswer> {
    const { bytes, ...answer } = await this.download(request);
    return { ...answer, body: new TextDecoder().decode(bytes) };
  }

  /** The same, of what is no text. */
  async download(request: OutgoingRequest): Promise<Download> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      return await this.#follow(request, signal);
    } catch (error) {
      throw await asOutgoingError(error, signal);
    }
  }

  /**
   * Fault of the host of a URL that is to be called later, or null. Of a name that cannot be resolved at the moment, or not before
   * `signal` is aborted, nothing is said: the call looks again. `isForOperator`: tells a name without an address from one that
   * leads inside, which customers must not learn of an inner network.
   */
  async hostFault(
    url: string,
    { signal = AbortSignal.timeout(this.#timeoutMs), isForOperator = false } = {},
  ): Promise<string | null> {
    try {
      const host = hostOf(this.#checked(url));
      const looking = isIP(host) === 0 && !this.#allowsAll ? this.#guard.resolve(host) : null;
      await Promise.race([looking, aborted(signal)]);
      return null;
    } catch (error) {
      if (!(error instanceof OutgoingHttpError)) throw error;
      if (isOutage(error.cause)) return null;
      return isForOperator && error.cause !== undefined ? NO_ADDRESS : NOT_PUBLIC;
    }
  }

  /** An address of a host that may be spoken to, for a connection that is no request; null when there is none. */
  async addressOf(host: string): Promise<string | null> {
    if (isIP(host) !== 0) return this.#allows(host) ? host : null;
    const addresses = await this.#guard.resolve(host).catch(() => []);
    return addresses[0] ?? null;
  }

  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  /** Made for the first request: undici is much to load for a process that never asks anybody. */
  async #makeAgent(): Promise<Agent> {
    const undici = await import('undici');
    return new undici.Agent({
      connect: { lookup: this.#guard.lookup, timeout: this.#timeoutMs },
      maxResponseSize: MAX_BODY,
      keepAliveTimeout: 1_000,
    });
  }

  async #follow(first: OutgoingRequest, signal: AbortSignal): Promise<Download> {
    const { redirects: most = MAX_REDIRECTS } = first;
    let request = first;
    for (let redirects = 0; redirects <= most; redirects++) {
      const answer = await this.#once(request, signal);
      const next = redirected(request, answer);
      if (next === null)
        return { status: answer.statusCode, headers: answer.headers, bytes: await answer.body.bytes() };
      await answer.body.dump();
      request = next;
    }
    throw new OutgoingHttpError(
      'redirects',
      most === 0 ? 'It redirects.' : `It redirects more than ${most} times.`,
    );
  }

  async #once({ method, url, headers, body }: OutgoingRequest, signal: AbortSignal) {
    const target = this.#checked(url);
    const path = `${target.pathname}${target.search}`;
    this.#agent ??= this.#makeAgent();
    const agent = await this.#agent;
    return await agent.request({
      origin: target.origin,
      path,
      method,
      headers: { ...headers },
      body,
      signal,
    });
  }

  /** An address that stands in the URL itself is never resolved, so it is looked at here. */
  #checked(url: string): URL {
    const target = URL.parse(url);
    if (target === null || !['http:', 'https:'].includes(target.protocol))
      throw new OutgoingHttpError('url', 'It is no http or https URL.');
    if (target.username !== '' || target.password !== '')
      throw new OutgoingHttpError('url', 'It carries a user name or a password.');
    const host = hostOf(target);
    if (isIP(host) !== 0 && !this.#allows(host))
      throw new OutgoingHttpError('address', `${host} is not a public address.`);
    return target;
  }
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Whether names cannot be resolved at the moment, in the words of getaddrinfo and c-ares. */
function isOutage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && OUTAGES.has(String(error.code));
}

function redirected(
  request: OutgoingRequest,
  { statusCode, headers }: Dispatcher.ResponseData,
): OutgoingRequest | null {
  const location = headers['location'];
  if (typeof location !== 'string') return null;
  const follows =
    KEPT_METHOD.includes(statusCode) || (request.method === 'GET' && AS_GET.includes(statusCode));
  if (!follows) return null;
  const from = new URL(request.url);
  const to = URL.parse(location, from.href);
  if (to === null) throw new OutgoingHttpError('url', 'It redirects to something that is no URL.');
  if (from.protocol === 'https:' && to.protocol !== 'https:')
    throw new OutgoingHttpError('url', 'It redirects from https to http.');
  return {
    ...request,
    url: to.href,
    headers: from.origin === to.origin ? request.headers : withoutCredentials(request),
  };
}

function withoutCredentials({ headers = {} }: OutgoingRequest): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !CREDENTIALS.includes(name.toLowerCase())),
  );
}

async function asOutgoingError(error: unknown, signal: AbortSignal): Promise<OutgoingHttpError> {
  const { errors } = await import('undici');
  if (error instanceof OutgoingHttpError) return error;
  if (error instanceof Error && error.cause instanceof OutgoingHttpError) return error.cause;
  if (signal.aborted || error instanceof errors.ConnectTimeoutError)
    return new OutgoingHttpError('timeout', 'It did not answer in time.', { cause: error });
  if (error instanceof errors.ResponseExceededMaxSizeError)
    return new OutgoingHttpError('too-large', 'Its answer is larger than 1 MB.', { cause: error });
  return new OutgoingHttpError('connection', 'The connection failed.', { cause: error });
}
