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

/**
 * Rows under their headings, in columns as wide as they need; `none` where there are no rows. Where they need more than `width`
 * characters, those of the terminal, each row is a block of its own with a line for each column.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none?: string,
  width = process.stdout.isTTY ? process.stdout.columns : Infinity,
): string {
  if (rows.length === 0 && none !== undefined) return none;
  // Not Math.max(...rows): the stack limits the number of arguments.
  const widths = headings.map((heading, column) =>
    rows.reduce((most, row) => Math.max(most, (row[column] ?? '').length), heading.length),
  );
  const needed = widths.reduce((sum, one) => sum + one, 2 * (widths.length - 1));
  if (needed > width && rows.length > 0) return rows.map((row) => block(headings, row, width)).join('\n\n');
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, ...rows].map(line).join('\n');
}

function block(headings: readonly string[], row: readonly string[], width: number): string {
  const indent = Math.max(...headings.map(({ length }) => length)) + 2;
  return headings
    .map((heading, column) => {
      const lines = wrapped(row[column] ?? '', width - indent);
      return `${heading.padEnd(indent)}${lines.join(`\n${' '.repeat(indent)}`)}`.trimEnd();
    })
    .join('\n');
}

/** Lines of at most `width` characters, broken behind spaces and commas; a longer word stays whole. */
export function wrapped(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const lines = [''];
    for (const word of line.split(/(?<= |,(?! ))/)) {
      const last = lines.length - 1;
      if (lines[last] !== '' && `${lines[last]}${word}`.trimEnd().length > width) lines.push(word);
      else lines[last] += word;
    }
    return lines.map((each) => each.trimEnd());
  });
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
