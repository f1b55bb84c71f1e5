import type { Answer } from './answer.js';

const DEFAULT_WINDOW_SECONDS = 60;

/** When the next request may be made, in epoch milliseconds; 0 for at once. */
export function freeAt(answer: Answer, now: number): number {
  if (answer.status === 429) return now + 1_000 * refusedFor(answer);
  if (number(answer.headers, 'x-ratelimit-remaining') !== 0) return 0;
  const reset = 1_000 * (number(answer.headers, 'x-ratelimit-reset') ?? 0);
  // The server's clock may differ: it must not make us wait too long.
  return Math.min(reset, now + 1_000 * DEFAULT_WINDOW_SECONDS);
}

/** The seconds after which a refused request may come again. */
export function refusedFor({ headers }: Answer): number {
  return number(headers, 'retry-after') ?? DEFAULT_WINDOW_SECONDS;
}

function number(headers: Headers, name: string): number | null {
  const value = headers.get(name)?.trim() ?? '';
  return /^\d+$/.test(value) ? Number(value) : null;
}
