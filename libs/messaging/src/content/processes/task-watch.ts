/** Also how long a task may last where the system does not tell what CPU time it has taken. */
const HUNG_AFTER_MS = 120_000;

/**
 * Whether a task is to be ended: it has taken more CPU time than it may, or none for two minutes. One that gets little, since
 * the machine is busy, is left alone however long it lasts.
 */
export class TaskWatch {
  #first: number | undefined;
  #taken: number | undefined;
  #progressAt = 0;

  constructor(private readonly cpuMs: number) {}

  /** `cpuMs`: what the process has taken since it began. */
  hasExceeded(cpuMs: number, nowMs: number): boolean {
    this.#first ??= cpuMs;
    if (cpuMs !== this.#taken) {
      this.#taken = cpuMs;
      this.#progressAt = nowMs;
    }
    return cpuMs - this.#first > this.cpuMs || nowMs - this.#progressAt > HUNG_AFTER_MS;
  }
}
