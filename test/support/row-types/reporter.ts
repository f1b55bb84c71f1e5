import { Describer } from './described-statements.js';
import { checkClaims } from './claim-faults.js';
import { recordedStatements } from './recorded-statements.js';
import { rowClaims } from './row-claims.js';

interface Run {
  readonly testPathPatterns: { readonly patterns: readonly string[] };
  readonly testNamePattern?: string;
  readonly onlyChanged: boolean;
}

interface Results {
  readonly numFailedTestSuites: number;
}

/** Templates that no test of this suite runs, by file, and what does. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'libs/platform/src/database/read-replica.ts': 'test/real, with a standby',
};

function tell(title: string, lines: readonly string[]): string {
  const text = `${title}:\n${[...lines].sort().join('\n')}`;
  if (lines.length > 0) process.stderr.write(`\n${text}\n`);
  return text;
}

/**
 * With ROW_TYPES set, fails a run when a row type of an `sql` template is not what PostgreSQL says of the statements that the tests
 * made of it, whatever else fails; a run of all tests tells those of which none made any.
 */
export default class RowTypesReporter {
  #error: Error | undefined;

  constructor(private readonly run: Run) {}

  async onRunComplete(_: unknown, { numFailedTestSuites }: Results): Promise<void> {
    const { testPathPatterns, testNamePattern = '', onlyChanged } = this.run;
    const isWhole =
      testPathPatterns.patterns.length === 0 &&
      testNamePattern === '' &&
      !onlyChanged &&
      numFailedTestSuites === 0;
    const { MAILWRIGHT_TEST_POSTGRES: server, MAILWRIGHT_TEST_STATEMENTS: directory } = process.env;
    if (server === undefined || directory === undefined) return;
    const describer = await Describer.open(`${server}/mailwright_template`);
    try {
      const { faults, unseen, unneeded } = await checkClaims(
        rowClaims(),
        recordedStatements(directory),
        describer,
      );
      const untested = unseen
        .map(({ place }) => place)
        .filter((place) => !(place.replace(/:.*/, '') in RUN_ELSEWHERE))
        .map((place) => `${place}: no test runs it`);
      const unused = unneeded.map((column) => `${column}: needs no exception`);
      // Told only: a template may run in few of many runs, or in a process that does not record.
      if (isWhole) tell('Not compared', [...untested, ...unused]);
      if (faults.size === 0) return;
      // Jest fails the run for the error, and says nothing of it.
      this.#error = new Error(tell('Row types of SQL', [...faults]));
    } finally {
      await describer.close();
    }
  }

  getLastError(): Error | undefined {
    return this.#error;
  }
}
