/** The surroundings of the program: environment and output. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True when `env` names no database and got that of `npm start` in this directory. */
  readonly isLocalInstallation?: boolean;
  /** The command that runs: `key:create`. */
  readonly command?: string | undefined;
  /** Writes to standard output. */
  readonly print: (text: string) => void;
  /** Writes to standard error. */
  readonly complain: (text: string) => void;
}

/** Every command has it: the program adds the option. */
export interface JsonOption {
  readonly json?: true;
}

/** The action of a command: does `work` and prints its result. */
export function printing<Options, Result extends object>(
  cli: CliContext,
  work: (options: Options) => Promise<Result>,
  text: (result: Result, options: Options) => string,
): (options: Options & JsonOption) => Promise<void> {
  return async (options) => {
    const result = await work(options);
    printResult(cli, options, result, () => text(result, options));
  };
}

/** Prints a result: one line of JSON for programs, or text for people. */
export function printResult(cli: CliContext, { json }: JsonOption, result: object, text: () => string): void {
  cli.print(`${json === true ? JSON.stringify(result) : text()}\n`);
}

/** Rows under their headings, in columns as wide as they need; `none` where there are no rows. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none?: string,
): string {
  if (rows.length === 0 && none !== undefined) return none;
  // Not Math.max(...rows): the stack limits the number of arguments.
  const widths = headings.map((heading, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? '').length), heading.length),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, ...rows].map(line).join('\n');
}

/** Names and values, one pair a line, the values aligned. */
export function facts(pairs: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(pairs).map((name) => name.length));
  return Object.entries(pairs)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join('\n');
}

/** The UTC day of a time, e.g. 2026-03-01. */
export function day(at: Date | null, none = '–'): string {
  return at?.toISOString().slice(0, 10) ?? none;
}
