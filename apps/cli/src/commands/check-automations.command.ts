import type { Command } from 'commander';
import type { AutomationDiscrepancy } from '#messaging';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import { table } from '../table.js';

interface Options {
  readonly json?: true;
}

const HEADINGS = ['AUTOMATION', 'COUNTER', 'COUNTED', 'ACTUAL'];

export function addCheckAutomations(program: Command, cli: CliContext): void {
  program
    .command('check:automations')
    .description('compare all automations’ counters with their runs; exits with 1 when they differ')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: Options) => {
      const found = await discrepancies(cli);
      if (found.length > 0)
        throw new OperatorError('discrepancies', `Counters differ.\n${table(HEADINGS, found.map(row))}`);
      printResult(cli, json, { discrepancies: found }, () => 'All counters are correct.');
    });
}

async function discrepancies(cli: CliContext): Promise<readonly AutomationDiscrepancy[]> {
  const [{ withServices }, { AutomationsCheckQuery, AutomationsModule }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  return withServices(cli.env, ({ get }) => get(AutomationsCheckQuery).discrepancies(), [AutomationsModule]);
}

function row({ automationId, counter, counted, actual }: AutomationDiscrepancy): string[] {
  return [automationId, counter, String(counted), String(actual)];
}
