/** The surroundings of the program: environment and output. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether `env` got the database of `npm start` in this directory because it named none. */
  readonly isLocalInstallation?: boolean;
  /** Writes to standard output. */
  readonly print: (text: string) => void;
  /** Writes to standard error. */
  readonly complain: (text: string) => void;
}

/** Prints a result: one line of JSON for programs, or text for people. */
export function printResult(
  cli: CliContext,
  json: boolean | undefined,
  result: object,
  text: () => string,
): void {
  cli.print(`${json === true ? JSON.stringify(result) : text()}\n`);
}
