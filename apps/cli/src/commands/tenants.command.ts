import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions } from '../failures.js';
import { table } from '../table.js';

interface Options {
  readonly key: string;
  readonly name: string;
  readonly json?: true;
}

export function addTenantCreate(program: Command, cli: CliContext): void {
  program
    .command('tenant:create')
    .description('create a tenant on the free plan')
    .requiredOption('--key <key>', 'capital letters and digits, e.g. ACME')
    .requiredOption('--name <name>', 'the name of the organisation')
    .option('--json', 'print one line of JSON')
    .action(async ({ key, name, json }: Options) => {
      const { withServices } = await import('../operator-services.js');
      const tenant = await withServices(cli.env, ({ database, tenants, subscriptions }) =>
        namingOptions({ tenantKey: '--key', name: '--name' }, () =>
          database.system(async () => {
            const made = await tenants.create({ tenantKey: key, name });
            await subscriptions.startFree(made.id);
            return made;
          }),
        ),
      );
      const result = { id: tenant.id, tenantKey: tenant.tenantKey, name: tenant.name, planTier: 'FREE' };
      printResult(cli, json, result, () => `Made the tenant ${tenant.tenantKey}, on the free plan.`);
    });
}

export function addTenantList(program: Command, cli: CliContext): void {
  program
    .command('tenant:list')
    .description('list tenants by key, with their plans')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { readonly json?: true }) => {
      const [{ SubscriptionsQuery }, { withServices }] = await Promise.all([
        import('#billing'),
        import('../operator-services.js'),
      ]);
      const tenants = await withServices(cli.env, async ({ get, tenants: stored }) => {
        const subscriptions = await get(SubscriptionsQuery).plansByTenant();
        return (await stored.list()).map(({ id, tenantKey, name, createdAt }) => {
          const { planTier = null, status = null } = subscriptions.get(id) ?? {};
          return { id, tenantKey, name, planTier, subscriptionStatus: status, createdAt };
        });
      });
      printResult(cli, json, tenants, () =>
        tenants.length === 0
          ? 'There are no tenants. Make one with `mailwright tenant:create`.'
          : table(
              ['ID', 'TENANT', 'NAME', 'PLAN', 'SUBSCRIPTION', 'CREATED'],
              tenants.map(({ id, tenantKey, name, planTier, subscriptionStatus, createdAt }) => [
                String(id),
                tenantKey,
                name,
                planTier ?? 'none',
                subscriptionStatus?.toLowerCase() ?? 'none',
                createdAt.toISOString().slice(0, 10),
              ]),
            ),
      );
    });
}
