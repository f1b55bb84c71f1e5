import type { Command } from 'commander';
import type { CreditDiscrepancy } from '#billing';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import { table } from '../table.js';

const HEADINGS = ['TENANT', 'WHAT', 'ROW', 'KEPT', 'ACTUAL'];

export function addCheckCredits(program: Command, cli: CliContext): void {
  program
    .command('check:credits')
    .description('compare the balances of AI credits with their ledgers; exits with 1 when they differ')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: true }) => {
      const [{ withServices }, { CreditCheckQuery }] = await Promise.all([
        import('../operator-services.js'),
        import('#billing'),
      ]);
      const found = await withServices(cli.env, ({ get }) => get(CreditCheckQuery).discrepancies());
      if (found.length > 0)
        throw new OperatorError('discrepancies', `Credits differ.\n${table(HEADINGS, found.map(row))}`);
      printResult(cli, json, { discrepancies: found }, () => 'All balances match their ledgers.');
    });
}

function row({ tenantId, what, sequence, kept, actual }: CreditDiscrepancy): string[] {
  return [String(tenantId), what, sequence === null ? '' : String(sequence), String(kept), String(actual)];
}
