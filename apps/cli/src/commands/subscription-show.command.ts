import type { Command } from 'commander';
import type { SubscriptionReport } from '#billing';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import { findTenant } from '../find-tenant.js';
import type { OperatorServices } from '../operator-services.js';
import { facts } from '../table.js';

interface Options {
  readonly tenant: string;
  readonly json?: true;
}

export function addSubscriptionShow(program: Command, cli: CliContext): void {
  program
    .command('subscription:show')
    .description('show a tenant’s subscription')
    .requiredOption('--tenant <key>', 'the tenant’s key')
    .option('--json', 'print one line of JSON')
    .action(async ({ tenant, json }: Options) => {
      const { withServices } = await import('../operator-services.js');
      const report = await withServices(cli.env, async (services) => {
        const { id } = findTenant(await services.tenants.list(), tenant);
        return subscriptionReport(services, id, tenant);
      });
      printResult(cli, json, report, () => describeSubscription(report));
    });
}

/** Throws an `OperatorError` when the tenant has no subscription. */
export async function subscriptionReport(
  { get }: OperatorServices,
  tenantId: number,
  tenantKey: string,
): Promise<SubscriptionReport> {
  const { SubscriptionsQuery } = await import('#billing');
  const report = await get(SubscriptionsQuery).report(tenantId);
  if (report !== null) return report;
  throw new OperatorError(
    'no-subscription',
    `The tenant ${tenantKey} has no subscription. Give it one with \`mailwright subscription:set\`.`,
  );
}

export function describeSubscription(report: SubscriptionReport): string {
  const lines = Object.entries(report).filter(([, value]) => value !== null);
  return facts(Object.fromEntries(lines.map(([name, value]) => [name, textOf(value)])));
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
