import { LRUCache } from 'lru-cache';
import { type Clock, withTimeout } from '#kernel';

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
  readonly #kept = new LRUCache<string, KeptAnswer<Answer>>({ max: KEPT });

  constructor(
    private readonly clock: Clock,
    private readonly look: (host: string) => Promise<Answer>,
    private readonly late: Answer,
  ) {}

  of(host: string): Promise<Answer> {
    const now = this.clock.now().getTime();
    const kept = this.#kept.get(host);
    if (kept !== undefined && kept.until > now) return kept.answer;
    const answer = withTimeout(this.look(host), DEADLINE_MS, () => this.late);
    this.#kept.set(host, { until: now + KEPT_MS, answer });
    return answer;
  }
}
