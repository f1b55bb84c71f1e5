import type { Command } from 'commander';
import type { Plan } from '#billing';
import { formatMoney } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { table } from '../table.js';

const HEADINGS = ['PLAN', 'VERSION', 'AI CREDITS', 'CURRENCY', 'MONTHLY', 'YEARLY'];

export function addPlanList(program: Command, cli: CliContext): void {
  program
    .command('plan:list')
    .description('list the plans on offer, with their prices')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { readonly json?: true }) => {
      const [{ PlanRepository }, { withServices }] = await Promise.all([
        import('#billing'),
        import('../operator-services.js'),
      ]);
      const plans = await withServices(cli.env, ({ get }) => get(PlanRepository).onOffer());
      printResult(cli, json, plans, () => table(HEADINGS, plans.flatMap(rows)));
    });
}

function rows({ tier, version, variants }: Plan): string[][] {
  return variants.flatMap(({ aiCredits, prices }) =>
    prices.map(({ currency, monthlyCents, yearlyCents }) => [
      tier,
      String(version),
      String(aiCredits),
      currency,
      formatMoney(monthlyCents, currency),
      formatMoney(yearlyCents, currency),
    ]),
  );
}
