import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Answer, readAnswer } from './answer.js';
import type { Target } from './target.js';

const ANSWER_WITHIN_MS = 30_000;
const DEFAULT_WINDOW_SECONDS = 60;
const MOST_REFUSALS = 3;
const PAUSES_MS = [250, 500, 1_000, 1_500];
const LONGEST_PAUSE_MS = 2_000;

const networkFailure = z.object({ cause: z.object({ code: z.string() }) });

export interface DemoRequest {
  readonly method: 'GET' | 'POST';
  /** A path below the base URL, or a whole URL as it stands in a mail. */
  readonly url: string;
  readonly json?: object;
  readonly form?: Readonly<Record<string, string>>;
}

/** An answer, and how often and how long it was asked for. */
export interface PolledAnswer {
  readonly answer: Answer;
  readonly times: number;
  readonly waitedMs: number;
}

/** Nobody answered. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';

  constructor(
    readonly origin: string,
    cause: unknown,
  ) {
    super(`${origin} does not answer (${reasonOf(cause)})`, { cause });
  }
}

/** Speaks HTTP as any client would, and keeps to the rate limit of its key by waiting. */
export class HttpClient {
  #requests = 0;
  #freeAt = 0;

  /** `onWait` is told the seconds before each wait for the rate limit. */
  constructor(
    private readonly target: Target,
    private readonly onWait: (seconds: number) => void,
  ) {}

  /** How many requests were made so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Throws `UnreachableError` when nobody answers. */
  async send(request: DemoRequest): Promise<Answer> {
    if (!isKeyed(request)) return this.#exchange(request);
    for (let refusals = 1; ; refusals += 1) {
      await this.#waitUntil(this.#freeAt);
      const answer = await this.#exchange(request);
      this.#freeAt = freeAt(answer, Date.now());
      if (answer.status !== 429 || refusals === MOST_REFUSALS) return answer;
    }
  }

  /**
   * Sends it again, ever more slowly, until `isDone` or `patienceMs` of pauses are over; waits for the rate
   * limit don't count. A failure is not asked for again.
   */
  async poll(
    request: DemoRequest,
    isDone: (answer: Answer) => boolean,
    patienceMs: number,
  ): Promise<PolledAnswer> {
    const started = performance.now();
    let pausedMs = 0;
    for (let times = 1; ; times += 1) {
      const answer = await this.send(request);
      if (answer.status >= 300 || isDone(answer) || pausedMs >= patienceMs) {
        return { answer, times, waitedMs: performance.now() - started };
      }
      const pause = Math.min(PAUSES_MS[times - 1] ?? LONGEST_PAUSE_MS, patienceMs - pausedMs);
      await delay(pause);
      pausedMs += pause;
    }
  }

  async #exchange({ method, url, json, form }: DemoRequest): Promise<Answer> {
    const whole = url.startsWith('/') ? `${this.target.baseUrl}${url}` : url;
    this.#requests += 1;
    try {
      const response = await fetch(whole, {
        method,
        headers: {
          ...(isKeyed({ url }) ? { 'x-api-key': this.target.key } : {}),
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: json === undefined ? form && new URLSearchParams(form) : JSON.stringify(json),
        redirect: 'manual',
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      return await readAnswer(response);
    } catch (error) {
      throw new UnreachableError(new URL(whole).origin, error);
    }
  }

  async #waitUntil(time: number): Promise<void> {
    const ms = time - Date.now();
    if (ms <= 0) return;
    this.onWait(Math.ceil(ms / 1_000));
    await delay(ms);
  }
}

/** The key goes to the API alone, never to a link out of a mail. */
function isKeyed({ url }: Pick<DemoRequest, 'url'>): boolean {
  return url.startsWith('/api/v1/');
}

/** When the next request may be made, in epoch milliseconds; 0 for at once. */
function freeAt({ status, headers }: Answer, now: number): number {
  if (status === 429) return now + 1_000 * (number(headers, 'retry-after') ?? DEFAULT_WINDOW_SECONDS);
  if (number(headers, 'x-ratelimit-remaining') !== 0) return 0;
  const reset = 1_000 * (number(headers, 'x-ratelimit-reset') ?? 0);
  // A clock that runs differently over there shall not put this one to sleep.
  return Math.min(reset, now + 1_000 * DEFAULT_WINDOW_SECONDS);
}

function number(headers: Headers, name: string): number | null {
  const value = headers.get(name)?.trim() ?? '';
  return /^\d+$/.test(value) ? Number(value) : null;
}

/** fetch itself says only "fetch failed"; the code of its cause says why. */
function reasonOf(error: unknown): string {
  const failure = networkFailure.safeParse(error);
  return failure.success ? failure.data.cause.code : String(error);
}
