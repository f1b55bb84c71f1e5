import type { Command } from 'commander';
import type { CreditTransaction } from '#billing';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions, UsageError } from '../failures.js';
import { findTenant } from '../find-tenant.js';

interface Options {
  readonly tenant: string;
  readonly credits: string;
  readonly description?: string;
  readonly json?: true;
}

const OPTIONS = { credits: '--credits', description: '--description' };

export function addCreditsGrant(program: Command, cli: CliContext): void {
  program
    .command('credits:grant')
    .description('grant a tenant AI credits that do not expire')
    .requiredOption('--tenant <key>', 'the tenant')
    .requiredOption('--credits <number>', 'how many')
    .option('--description <text>', 'the description in the tenant’s ledger', 'Granted by the operator')
    .option('--json', 'print one line of JSON')
    .action((options: Options) => book(cli, 'GRANT', options));
}

export function addCreditsAdjust(program: Command, cli: CliContext): void {
  program
    .command('credits:adjust')
    .description(
      'adjust a tenant’s AI credits; a negative number takes credits, at most as many as there are',
    )
    .requiredOption('--tenant <key>', 'the tenant')
    .requiredOption('--credits <number>', 'how many, e.g. -20')
    .requiredOption('--description <text>', 'the reason, shown in the tenant’s ledger')
    .option('--json', 'print one line of JSON')
    .action((options: Options) => book(cli, 'ADJUSTMENT', options));
}

async function book(cli: CliContext, type: 'GRANT' | 'ADJUSTMENT', options: Options): Promise<void> {
  const addition = { type, credits: wholeNumber(options.credits), description: options.description ?? null };
  const [{ withServices }, { CreditsService }] = await Promise.all([
    import('../operator-services.js'),
    import('#billing'),
  ]);
  const transaction = await withServices(cli.env, async ({ get, tenants }) => {
    const { id } = findTenant(await tenants.list(), options.tenant);
    return namingOptions(OPTIONS, () => get(CreditsService).add(id, addition));
  });
  printResult(cli, options.json, { tenantKey: options.tenant, ...transaction }, () =>
    textOf(options.tenant, transaction),
  );
}

function textOf(tenantKey: string, transaction: CreditTransaction | null): string {
  return `${tenantKey} has ${transaction?.balanceAfter ?? 0} AI credits.`;
}

function wholeNumber(text: string): number {
  if (!/^-?\d{1,12}$/.test(text)) throw new UsageError('--credits must be an integer');
  return Number(text);
}
