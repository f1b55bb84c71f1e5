import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Mailwright, MailwrightConnectionError, MailwrightError } from '#sdk';
import { type Answer, readAnswer } from './answer.js';
import type { Target } from './options.js';

const ANSWER_WITHIN_MS = 30_000;
const MOST_RETRIES = 2;
const PAUSES_MS = [250, 500, 1_000, 1_500];
const LONGEST_PAUSE_MS = 2_000;
const DEFAULT_WINDOW_SECONDS = 60;

const networkFailure = z.object({ cause: z.object({ code: z.string() }) });

/** A request to the API. */
export type ApiCall = (mailwright: Mailwright) => Promise<unknown>;

/** A request to a page for readers, by the link in a mail. */
export interface PageRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly form?: Readonly<Record<string, string>>;
}

export type DemoRequest = ApiCall | PageRequest;

/** A sent request, for people to read. */
export interface SentRequest {
  readonly method: string;
  /** Relative to the base URL for the API, absolute for the link of a mail. */
  readonly url: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

/** An answer, with the number of attempts and the time they took. */
export interface PolledAnswer {
  readonly answer: Answer;
  readonly times: number;
  readonly waitedMs: number;
}

export interface Poll {
  readonly isDone: (answer: Answer) => boolean;
  /** The total time for pauses between attempts; waits for the rate limit do not count. */
  readonly patienceMs: number;
  /** Called with the request when it is first sent. */
  readonly onSent?: (sent: SentRequest) => void;
}

/** In milliseconds. */
interface Time {
  /** Since 1970. */
  now(): number;
  wait(ms: number): Promise<void>;
}

/** The server did not answer. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';

  constructor(
    readonly origin: string,
    cause: unknown,
  ) {
    super(`${origin} does not answer (${reasonOf(cause)})`, { cause });
  }
}

/** Calls the API with the SDK and pages like a browser, and records the requests and answers to show them. */
export class DemoClient {
  readonly #mailwright: Mailwright;
  #requests = 0;
  #freeAt = 0;
  #refusals = 0;
  #answer: Answer | undefined;
  #onSent: ((sent: SentRequest) => void) | undefined;

  /** `onWait` gets the seconds before each wait for the rate limit. */
  constructor(
    private readonly target: Target,
    private readonly onWait: (seconds: number) => void,
    private readonly time: Time = { now: Date.now, wait: delay },
  ) {
    this.#mailwright = new Mailwright({
      apiKey: target.key,
      baseUrl: target.baseUrl,
      maxRetries: MOST_RETRIES,
      timeoutMs: ANSWER_WITHIN_MS,
      fetch: (url, init) => this.#fetchFromApi(url, init),
    });
  }

  /** The number of requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Throws `UnreachableError` when the server does not answer. */
  send(request: DemoRequest): Promise<Answer> {
    return typeof request === 'function' ? this.#call(request) : this.#visit(request);
  }

  /** Repeats the request, with growing pauses, until it is done or patience ends. A failure is not repeated. */
  async poll(request: DemoRequest, { isDone, patienceMs, onSent }: Poll): Promise<PolledAnswer> {
    const started = this.time.now();
    let pausedMs = 0;
    this.#onSent = onSent;
    for (let times = 1; ; times += 1) {
      const answer = await this.send(request);
      if (answer.status >= 300 || isDone(answer) || pausedMs >= patienceMs) {
        return { answer, times, waitedMs: this.time.now() - started };
      }
      const pause = Math.min(PAUSES_MS[times - 1] ?? LONGEST_PAUSE_MS, patienceMs - pausedMs);
      await this.time.wait(pause);
      pausedMs += pause;
    }
  }

  async #call(call: ApiCall): Promise<Answer> {
    await this.#waitUntil(this.#freeAt);
    this.#refusals = 0;
    this.#answer = undefined;
    try {
      await call(this.#mailwright);
    } catch (error) {
      if (error instanceof MailwrightConnectionError)
        throw new UnreachableError(new URL(this.target.baseUrl).origin, error.cause);
      // A problem, or an answer that is not JSON: the step judges it.
      if (!(error instanceof MailwrightError || error instanceof SyntaxError)) throw error;
    }
    if (this.#answer === undefined) throw new Error('The step made no request.');
    return this.#answer;
  }

  async #visit({ method, url, form }: PageRequest): Promise<Answer> {
    this.#sent({ method, url, ...(form && { form }) });
    try {
      const response = await fetch(url, {
        method,
        body: form && new URLSearchParams(form),
        redirect: 'manual',
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      return await readAnswer(response);
    } catch (error) {
      throw new UnreachableError(new URL(url).origin, error);
    }
  }

  async #fetchFromApi(url: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
    const { method = 'GET', body } = init;
    const path = urlOf(url).slice(this.target.baseUrl.length);
    this.#sent({ method, url: path, ...(typeof body === 'string' && { json: JSON.parse(body) as unknown }) });
    const response = await fetch(url, init);
    this.#answer = await readAnswer(response.clone());
    this.#freeAt = freeAt(this.#answer, this.time.now());
    if (response.status === 429) this.#tellOfRefusal(this.#answer);
    return response;
  }

  #sent(sent: SentRequest): void {
    this.#requests += 1;
    this.#onSent?.(sent);
    this.#onSent = undefined;
  }

  /** The SDK waits for the rate limit, except after its last attempt. */
  #tellOfRefusal(answer: Answer): void {
    this.#refusals += 1;
    if (this.#refusals <= MOST_RETRIES) this.onWait(refusedFor(answer));
  }

  async #waitUntil(time: number): Promise<void> {
    const ms = time - this.time.now();
    if (ms <= 0) return;
    this.onWait(Math.ceil(ms / 1_000));
    await this.time.wait(ms);
  }
}

function urlOf(input: Parameters<typeof fetch>[0]): string {
  return input instanceof Request ? input.url : input.toString();
}

/** The message of fetch is only "fetch failed"; the code of its cause says why. */
function reasonOf(error: unknown): string {
  const failure = networkFailure.safeParse(error);
  return failure.success ? failure.data.cause.code : String(error);
}

/** When the next request may be made, in epoch milliseconds; 0 for at once. */
function freeAt(answer: Answer, now: number): number {
  if (answer.status === 429) return now + 1_000 * refusedFor(answer);
  if (number(answer.headers, 'x-ratelimit-remaining') !== 0) return 0;
  const reset = 1_000 * (number(answer.headers, 'x-ratelimit-reset') ?? 0);
  // The server's clock may differ: it must not make us wait too long.
  return Math.min(reset, now + 1_000 * DEFAULT_WINDOW_SECONDS);
}

/** The seconds after which a refused request may come again. */
function refusedFor({ headers }: Answer): number {
  return number(headers, 'retry-after') ?? DEFAULT_WINDOW_SECONDS;
}

function number(headers: Headers, name: string): number | null {
  const value = headers.get(name)?.trim() ?? '';
  return /^\d+$/.test(value) ? Number(value) : null;
}
