import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '#kernel';

/** For all look-ups of a host: somebody waits for the answer. */
const DEADLINE_MS = 4_000;
const KEPT_MS = 60_000;
const KEPT = 1_000;

interface KeptAnswer<Answer> {
  readonly until: number;
  readonly answer: Promise<Answer>;
}

/** Answers of DNS about hosts, each kept for a minute: `late` where there is none within 4 s. */
export class AnswersInTime<Answer> {
  readonly #kept = new Map<string, KeptAnswer<Answer>>();

  constructor(
    private readonly clock: Clock,
    private readonly look: (host: string) => Promise<Answer>,
    private readonly late: Answer,
  ) {}

  of(host: string): Promise<Answer> {
    const now = this.clock.now().getTime();
    const kept = this.#kept.get(host);
    if (kept !== undefined && kept.until > now) return kept.answer;
    for (const oldest of [...this.#kept.keys()].slice(0, Math.max(0, this.#kept.size + 1 - KEPT)))
      this.#kept.delete(oldest);
    const answer = this.#inTime(host);
    this.#kept.set(host, { until: now + KEPT_MS, answer });
    return answer;
  }

  async #inTime(host: string): Promise<Answer> {
    const deadline = new AbortController();
    const late = delay(DEADLINE_MS, this.late, { signal: deadline.signal });
    try {
      return await Promise.race([this.look(host), late]);
    } finally {
      late.catch(() => undefined);
      deadline.abort();
    }
  }
}
