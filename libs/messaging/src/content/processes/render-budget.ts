/** CPU time that a project may take at once, and how much of one core it gets back. */
const BURST_MS = 1_000;
const SHARE = 0.8;

interface Account {
  left: number;
  atMs: number;
}

/** What each project may still have rendered ahead of others' mails, by the time that it has taken. */
export class RenderBudget {
  readonly #accounts = new Map<number, Account>();

  constructor(private readonly nowMs: () => number) {}

  spend(projectId: number, cpuMs: number): void {
    const left = this.#left(projectId) - cpuMs;
    this.#accounts.set(projectId, { left, atMs: this.nowMs() });
    for (const [id] of this.#accounts) if (this.#left(id) >= BURST_MS) this.#accounts.delete(id);
  }

  /** How long until the project may go on; 0 when it may now. */
  waitMs(projectId: number): number {
    return Math.max(0, -this.#left(projectId) / SHARE);
  }

  #left(projectId: number): number {
    const account = this.#accounts.get(projectId);
    if (account === undefined) return BURST_MS;
    return Math.min(BURST_MS, account.left + (this.nowMs() - account.atMs) * SHARE);
  }
}
