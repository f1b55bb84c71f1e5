/** Prints the launcher's progress: one line for each step, with its time. */
export class Progress {
  constructor(
    private readonly write: (text: string) => void,
    private readonly now: () => number,
  ) {}

  line(text = ''): void {
    this.write(`${text}\n`);
  }

  /** Runs a step, then prints its result and milliseconds. */
  async step<T>(work: () => Promise<T>, describe: (result: T) => string): Promise<T> {
    const started = this.now();
    const result = await work();
    this.line(`  ${describe(result).padEnd(60)} ${String(Math.round(this.now() - started)).padStart(6)} ms`);
    return result;
  }
}
