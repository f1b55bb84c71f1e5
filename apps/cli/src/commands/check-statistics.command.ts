import type { Command } from 'commander';
import type { CampaignDiscrepancy } from '#messaging';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import { table } from '../table.js';

interface Options {
  readonly json?: true;
}

const HEADINGS = ['CAMPAIGN', 'COUNTER', 'MINUTE', 'COUNTED', 'ACTUAL'];

export function addCheckStatistics(program: Command, cli: CliContext): void {
  program
    .command('check:statistics')
    .description(
      'compare all campaigns’ counters with their deliveries and events; exits with 1 when they differ',
    )
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: Options) => {
      const found = await discrepancies(cli);
      if (found.length > 0)
        throw new OperatorError('discrepancies', `Counters differ.\n${table(HEADINGS, found.map(row))}`);
      printResult(cli, json, { discrepancies: found }, () => 'All counters are correct.');
    });
}

async function discrepancies(cli: CliContext): Promise<CampaignDiscrepancy[]> {
  const [{ withServices }, { MessagingModule, StatisticsCheckQuery }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  return withServices(cli.env, ({ get }) => get(StatisticsCheckQuery).discrepancies(), [MessagingModule]);
}

function row({ campaignId, counter, minute, counted, actual }: CampaignDiscrepancy): string[] {
  return [campaignId, counter, minute?.toISOString() ?? '', String(counted), String(actual)];
}
