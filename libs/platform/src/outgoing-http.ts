import { lookup } from 'node:dns/promises';
import { isIP, isIPv6, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { Webhook } from 'standardwebhooks';
import type { Agent, Dispatcher } from 'undici';

export type OutgoingHttpFault =
  | 'url'
  | 'address'
  | 'resolution'
  | 'redirects'
  | 'timeout'
  | 'too-large'
  | 'connection';

/** A request that got no answer. `address` and `url` are final: the same request would be refused again. */
export class OutgoingHttpError extends Error {
  constructor(
    readonly fault: OutgoingHttpFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Globally routed IPv6 (RFC 4291 §2.4): addresses outside may wrap an IPv4 address. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** RFC 6052 §2.1: the last 32 bits are an IPv4 address, which a translator of the network speaks to. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Azure's host agent, of every virtual machine: a public address that answers inside only. */
const HOST_AGENT = '168.63.129.16';

/**
 * True for an address of the public internet. Loopback, private, link-local (cloud metadata lives there), shared,
 * multicast and reserved ranges are not (RFC 6890), nor is IPv6 that wraps IPv4: mapped and NAT64 addresses are as
 * public as what they wrap; compatible ones, 6to4 and Teredo never are.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const plain = unwrapped(ipaddr.process(address));
  if (plain.range() !== 'unicast') return false;
  return plain instanceof ipaddr.IPv6 ? plain.match(GLOBAL_UNICAST) : plain.toString() !== HOST_AGENT;
}

function unwrapped(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6) || !address.match(NAT64)) return address;
  return ipaddr.fromByteArray(address.toByteArray().slice(-4));
}

/** The addresses of a host name, IPv4 and IPv6. */
export type AddressesOf = (host: string) => Promise<readonly string[]>;

/** Resolves for a connection, and refuses names of which any address is not allowed. */
export class GuardedLookup {
  constructor(
    private readonly addressesOf: AddressesOf,
    private readonly allows: (address: string) => boolean,
  ) {}

  readonly lookup: LookupFunction = (host, options, callback) => {
    this.#resolved(host, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      const [first] = found;
      if (options.all === true) callback(null, found);
      else callback(null, first?.address ?? '', first?.family);
    });
  };

  readonly #resolved = callbackify((host: string) => this.resolve(host));

  /**
   * Addresses of `host`. Unknown names and forbidden addresses are refused alike, so that nobody learns names of an inner
   * network.
   */
  async resolve(host: string): Promise<readonly string[]> {
    const refusal = `${host} leads to no public address.`;
    let addresses: readonly string[];
    try {
      addresses = await this.addressesOf(host);
    } catch (error) {
      throw new OutgoingHttpError('resolution', refusal, { cause: error });
    }
    if (addresses.length > 0 && addresses.every(this.allows)) return addresses;
    throw new OutgoingHttpError('resolution', refusal);
  }
}

/** As the machine itself resolves names: `DNS_SERVERS` are for customers’ records, and may know no host of the operator's. */
export const systemAddresses: AddressesOf = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

const MAX_REDIRECTS = 3;
const MAX_BODY = 1_048_576;
const TIMEOUT_MS = 5_000;
const KEPT_METHOD = [307, 308];
const AS_GET = [301, 302, 303];
/** Headers that must not follow a redirect to another host. */
const CREDENTIALS = ['authorization', 'cookie', 'proxy-authorization'];
/** One for names that lead inside and names that are not there: customers must not learn which. */
const NOT_PUBLIC =
  'must lead to a public address; its name is unknown, or leads to a private one, which the operator can allow: OUTGOING_PRIVATE_ADDRESSES';
const OUTAGES: ReadonlySet<string> = new Set(['EAI_AGAIN', 'ETIMEOUT', 'ESERVFAIL', 'ECONNREFUSED']);

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Most redirects that are followed, 0 where only this host may answer. Default: 3. */
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
  /** True for addresses that may be spoken to. Default: all. */
  readonly allows?: (address: string) => boolean;
  /** For the whole request, redirects and body included. Default: 5 s. */
  readonly timeoutMs?: number;
}

/**
 * Requests to URLs of customers. A name is resolved once and the connection goes to that very address, which must be allowed (DNS
 * rebinding). At most 3 redirects, each checked as the first URL was; 5 s; 1 MB.
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

  /** The same in bytes. */
  async download(request: OutgoingRequest): Promise<Download> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      return await this.#follow(request, signal);
    } catch (error) {
      throw await asOutgoingError(error, signal);
    }
  }

  /** Fault of the host of a URL that is called later; null without one, or where the name cannot be resolved now. */
  async hostFault(url: string, signal = AbortSignal.timeout(this.#timeoutMs)): Promise<string | null> {
    try {
      const host = hostOf(this.#checked(url));
      const looking = isIP(host) === 0 && !this.#allowsAll ? this.#guard.resolve(host) : null;
      await Promise.race([looking, aborted(signal)]);
      return null;
    } catch (error) {
      if (!(error instanceof OutgoingHttpError)) throw error;
      return isOutage(error.cause) ? null : NOT_PUBLIC;
    }
  }

  /** An allowed address of a host, for a connection that is no request; null when there is none. */
  async addressOf(host: string): Promise<string | null> {
    if (isIP(host) !== 0) return this.#allows(host) ? host : null;
    const addresses = await this.#guard.resolve(host).catch(() => []);
    return addresses[0] ?? null;
  }

  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  /** Loads undici for the first request: it is much for a process that makes none. */
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

  /** Checks the URL, and an address in it, which is never resolved. */
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

/** True if names cannot be resolved at the moment, in the words of getaddrinfo and c-ares. */
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
  const code = codeOf(error);
  const reason = code === null ? '' : `: ${code}`;
  return new OutgoingHttpError('connection', `The connection failed${reason}.`, { cause: error });
}

/** Code of the system or of TLS (`ECONNREFUSED`, `CERT_HAS_EXPIRED`) that its owner can look up. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const code = 'code' in error && /^[A-Z][A-Z0-9_]+$/.test(String(error.code)) ? String(error.code) : null;
  return codeOf(error.cause) ?? code;
}

/** The receiver does not want it any more (Standard Webhooks, "Disabling endpoints"). */
const GONE = 410;

/** Result of a post. `retry` may go another way next time, `final` goes the same way again. */
export interface PostOutcome {
  readonly verdict: 'taken' | 'retry' | 'final';
  /** Null when there was no answer. */
  readonly answer: Pick<OutgoingAnswer, 'status' | 'body'> | null;
  /** Reason of a missing answer. */
  readonly fault: { readonly kind: OutgoingHttpFault; readonly message: string } | null;
}

/** Result of a post: any 2xx is taken; gone, and an address or URL that is never posted to, is final. Throws other errors. */
export async function postOutcome(request: Promise<OutgoingAnswer>): Promise<PostOutcome> {
  try {
    const answer = await request;
    return { verdict: verdictOn(answer.status), answer, fault: null };
  } catch (error) {
    if (!(error instanceof OutgoingHttpError)) throw error;
    const { fault: kind, message } = error;
    const verdict = kind === 'address' || kind === 'url' ? 'final' : 'retry';
    return { verdict, answer: null, fault: { kind, message } };
  }
}

function verdictOn(status: number): PostOutcome['verdict'] {
  if (status >= 200 && status < 300) return 'taken';
  return status === GONE ? 'final' : 'retry';
}

/** Headers of a webhook (Standard Webhooks 1.0). Several secrets: one signature each, for rotation. */
export function webhookHeaders(
  secrets: readonly string[],
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
