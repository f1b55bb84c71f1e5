import type { Command } from 'commander';
import { withServices } from '../command.js';
import { namingOptions } from '../failures.js';
import { type CliContext, day, printing, table } from '../output.js';

export function addTenantCommands(program: Command, cli: CliContext): void {
  program
    .command('tenant:create')
    .description('create a tenant on the free plan')
    .requiredOption('--key <key>', 'capital letters and digits, e.g. ACME')
    .requiredOption('--name <name>', 'the name of the organisation')
    .action(
      printing(
        cli,
        (options: { readonly key: string; readonly name: string }) => create(cli, options.key, options.name),
        ({ tenantKey }) => `Made the tenant ${tenantKey}, on the free plan.`,
      ),
    );
  program
    .command('tenant:list')
    .description('list tenants by key, with their plans')
    .action(
      printing(
        cli,
        () => withServices(cli, ({ accounts }) => accounts.allTenants()),
        (tenants) =>
          table(
            ['ID', 'TENANT', 'NAME', 'PLAN', 'SUBSCRIPTION', 'CREATED'],
            tenants.map(({ id, tenantKey, name, planTier, subscriptionStatus, createdAt }) => [
              String(id),
              tenantKey,
              name,
              planTier ?? 'none',
              subscriptionStatus?.toLowerCase() ?? 'none',
              day(createdAt),
            ]),
            'There are no tenants. Make one with `mailwright tenant:create`.',
          ),
      ),
    );
}

function create(cli: CliContext, tenantKey: string, name: string) {
  return withServices(cli, ({ accounts }) =>
    namingOptions({ tenantKey: '--key', name: '--name' }, () => accounts.createTenant({ tenantKey, name })),
  );
}
