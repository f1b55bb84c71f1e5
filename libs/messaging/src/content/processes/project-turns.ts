import { UnavailableError } from '#kernel';

interface Waiting {
  readonly start: () => void;
}

/** Whose work it is, and what has been done for them while anybody waited. */
interface Account {
  spent: number;
  readonly waiting: Waiting[];
}

const MOST_WAITING = 200;
const RETRY_AFTER_SECONDS = 5;

/**
 * Lets one piece of work through at a time: that of the project which has taken the least so far. Who comes later begins
 * where the least of the others stands, so that nobody saves up turns; who takes much waits behind all who take little.
 */
export class ProjectTurns {
  readonly #accounts = new Map<number, Account>();
  #running: number | null = null;

  /** `work` tells what it has taken. @throws {UnavailableError} when too much of this project waits already */
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
    account.waiting.push({ start: resolve });
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
    next[1].waiting.shift()?.start();
  }
}
