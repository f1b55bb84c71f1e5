import { UnavailableError } from '#kernel';

/** Account of one project: work done while anybody waited, and starts of work that waits. */
interface Account {
  spent: number;
  readonly waiting: (() => void)[];
}

const MOST_WAITING = 200;
const RETRY_AFTER_SECONDS = 5;

/**
 * Runs one piece of work at a time, of the project with the least usage so far. A new project starts at the minimum usage of
 * the others, so that nobody saves up turns.
 */
export class FairQueue {
  readonly #accounts = new Map<number, Account>();
  #running: number | null = null;

  /** `work` resolves with its CPU time. @throws {UnavailableError} when too much of this project waits already */
  async run<Result extends { readonly cpuMs: number }>(
    projectId: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    await this.#turn(projectId);
    let cost = 0;
    try {
      const result = await work();
      cost = result.cpuMs;
      return result;
    } finally {
      this.#end(projectId, cost);
    }
  }

  async #turn(projectId: number): Promise<void> {
    const account = this.#accountOf(projectId);
    if (this.#running === null) {
      this.#running = projectId;
      return;
    }
    if (account.waiting.length >= MOST_WAITING)
      throw new UnavailableError('Too much of this project is being rendered.', RETRY_AFTER_SECONDS);
    const { promise, resolve } = Promise.withResolvers<void>();
    account.waiting.push(resolve);
    await promise;
  }

  #accountOf(projectId: number): Account {
    const known = this.#accounts.get(projectId);
    if (known !== undefined) return known;
    const others = [...this.#accounts].filter(
      ([id, { waiting }]) => id === this.#running || waiting.length > 0,
    );
    const account = { spent: Math.min(...others.map(([, { spent }]) => spent)), waiting: [] };
    if (others.length === 0) account.spent = 0;
    this.#accounts.set(projectId, account);
    return account;
  }

  #end(projectId: number, cost: number): void {
    const account = this.#accounts.get(projectId);
    if (account !== undefined) account.spent += cost;
    this.#running = null;
    const waiting = [...this.#accounts].filter(([, one]) => one.waiting.length > 0);
    const [next] = waiting.sort(([, a], [, b]) => a.spent - b.spent);
    if (next === undefined) return this.#accounts.clear();
    this.#running = next[0];
    next[1].waiting.shift()?.();
  }
}

/** CPU time that a project may take at once, and the share of one core that it gets back. */
const BURST_MS = 1_000;
const SHARE = 0.8;

/** Budget of CPU time of each project, for mails rendered ahead of others'. */
export class RenderBudget {
  readonly #accounts = new Map<number, { readonly left: number; readonly atMs: number }>();

  constructor(private readonly nowMs: () => number) {}

  spend(projectId: number, cpuMs: number): void {
    const left = this.#left(projectId) - cpuMs;
    this.#accounts.set(projectId, { left, atMs: this.nowMs() });
    for (const [id] of this.#accounts) if (this.#left(id) >= BURST_MS) this.#accounts.delete(id);
  }

  /** Milliseconds until the project may go on; 0 when it may now. */
  waitMs(projectId: number): number {
    return Math.max(0, -this.#left(projectId) / SHARE);
  }

  #left(projectId: number): number {
    const account = this.#accounts.get(projectId);
    if (account === undefined) return BURST_MS;
    return Math.min(BURST_MS, account.left + (this.nowMs() - account.atMs) * SHARE);
  }
}
