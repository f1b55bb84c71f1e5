import type { Command } from 'commander';
import type { CounterCheck } from '#audience';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import { table } from '../table.js';

interface Options {
  readonly repair?: true;
  readonly json?: true;
}

interface Result extends CounterCheck {
  /** How many counters were corrected; 0 without `--repair`. */
  readonly repaired: number;
}

export function addCheckCounters(program: Command, cli: CliContext): void {
  program
    .command('check:counters')
    .description('compare the counters of subscribers, consents and suppressions with their rows')
    .option('--repair', 'correct wrong counters')
    .option('--json', 'print one line of JSON')
    .action(async ({ repair, json }: Options) => {
      const result = await check(cli, repair === true);
      printResult(cli, json, result, () => asText(result));
      const wrong = result.differences.length - result.repaired;
      if (wrong > 0)
        throw new OperatorError(
          'counters-differ',
          wrong === 1 ? '1 counter is wrong.' : `${wrong} counters are wrong.`,
        );
      if (result.statusDifferences.length > 0) {
        throw new OperatorError('statuses-differ', 'Some subscribers have a wrong status.');
      }
      if (result.strayConsents.length > 0) {
        throw new OperatorError('consents-stray', 'Some consents belong to no subscriber or no topic.');
      }
    });
}

async function check(cli: CliContext, repair: boolean): Promise<Result> {
  const [{ withServices }, { AudienceModule, CountersService }] = await Promise.all([
    import('../operator-services.js'),
    import('#audience'),
  ]);
  return withServices(
    cli.env,
    async (services) => {
      const counters = services.get(CountersService);
      const found = await counters.check();
      const repaired = repair && found.differences.length > 0 ? await counters.repair() : 0;
      return { ...found, repaired };
    },
    [AudienceModule],
  );
}

function asText({ counters, differences, statusDifferences, strayConsents, repaired }: Result): string {
  const parts = [`${counters} counters were compared with their rows.`];
  if (differences.length > 0) {
    const rows = differences.map(({ environmentId, kind, key, state, counter, counted }) =>
      [environmentId, kind, key, state, counter, counted].map(String),
    );
    parts.push(table(['ENVIRONMENT', 'KIND', 'KEY', 'STATE', 'COUNTER', 'COUNTED'], rows));
  }
  if (statusDifferences.length > 0) {
    const rows = statusDifferences.map(({ environmentId, status, derived, subscribers }) =>
      [environmentId, status, derived, subscribers].map(String),
    );
    parts.push(table(['ENVIRONMENT', 'STATUS', 'SHOULD BE', 'SUBSCRIBERS'], rows));
  }
  if (strayConsents.length > 0) {
    const rows = strayConsents.map(({ environmentId, missing, consents }) =>
      [environmentId, missing, consents].map(String),
    );
    parts.push(table(['ENVIRONMENT', 'WITHOUT ITS', 'CONSENTS'], rows));
  }
  if (repaired > 0) parts.push(`Repaired ${repaired}.`);
  return parts.join('\n\n');
}
