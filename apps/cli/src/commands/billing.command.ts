import type { Command } from 'commander';
import type { ListedInvoice, Plan } from '#billing';
import { formatMoney } from '#kernel';
import { oneOf, withServices } from '../command.js';
import { namingOptions, UsageError, whenNotFound } from '../failures.js';
import { findTenant } from '../names.js';
import { type CliContext, day, printing, table } from '../output.js';

interface ListOptions {
  readonly tenant: string;
  readonly status?: string;
}

interface CreditOptions {
  readonly tenant: string;
  readonly credits: string;
  readonly description?: string;
}

const PLANS = ['PLAN', 'VERSION', 'AI CREDITS', 'CURRENCY', 'MONTHLY', 'YEARLY'];
const STATUSES = ['DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID'] as const;
const INVOICES = ['NUMBER', 'STATUS', 'AMOUNT', 'FOR', 'CREATED', 'DUE', 'PAID'];
const SETTLEMENTS = {
  pay: { status: 'PAID', done: 'Paid', description: 'mark an invoice as paid; its subscription continues' },
  void: { status: 'VOID', done: 'Voided', description: 'void an invoice; it keeps its number' },
} as const;

/** Plans, invoices and AI credits. */
export function addBillingCommands(program: Command, cli: CliContext): void {
  program
    .command('plan:list')
    .description('list the plans on offer, with their prices')
    .action(
      printing(
        cli,
        async () => {
          const { PlanRepository } = await import('#billing');
          return withServices(cli, ({ get }) => get(PlanRepository).onOffer());
        },
        (plans) => table(PLANS, plans.flatMap(prices)),
      ),
    );
  program
    .command('invoice:list')
    .description('list a tenant’s invoices, newest first')
    .requiredOption('--tenant <key>', 'whose invoices')
    .option('--status <status>', 'only invoices that are draft, open, paid, uncollectible or void')
    .option('--json', 'print one line of JSON, with the addresses of the invoices’ pages')
    .action(
      printing(
        cli,
        (options: ListOptions) => list(cli, options),
        (invoices) => table(INVOICES, invoices.map(row), 'There are no invoices.'),
      ),
    );
  for (const action of ['pay', 'void'] as const) {
    const { status, done, description } = SETTLEMENTS[action];
    program
      .command(`invoice:${action}`)
      .description(description)
      .requiredOption('--invoice <number>', 'its number, e.g. ACME-2026-000001')
      .action(
        printing(
          cli,
          async ({ invoice }: { readonly invoice: string }) => {
            const { SubscriptionsService } = await import('#billing');
            const settle = `${action}Invoice` as const;
            await withServices(cli, ({ get }) => get(SubscriptionsService)[settle](invoice)).catch(
              whenNotFound('unknown-invoice', `There is no invoice ${invoice}.`),
            );
            return { invoiceNumber: invoice, status };
          },
          ({ invoiceNumber }) => `${done} ${invoiceNumber}.`,
        ),
      );
  }
  program
    .command('credits:grant')
    .description('grant a tenant AI credits that do not expire')
    .requiredOption('--tenant <key>', 'the tenant')
    .requiredOption('--credits <number>', 'how many')
    .option('--description <text>', 'the description in the tenant’s ledger', 'Granted by the operator')
    .action(printing(cli, (options: CreditOptions) => book(cli, 'GRANT', options), balanceText));
  program
    .command('credits:adjust')
    .description(
      'adjust a tenant’s AI credits; a negative number takes credits, at most as many as there are',
    )
    .requiredOption('--tenant <key>', 'the tenant')
    .requiredOption('--credits <number>', 'how many, e.g. -20')
    .requiredOption('--description <text>', 'the reason, shown in the tenant’s ledger')
    .action(printing(cli, (options: CreditOptions) => book(cli, 'ADJUSTMENT', options), balanceText));
}

function prices({ tier, version, variants }: Plan): string[][] {
  return variants.flatMap(({ aiCredits, prices: offered }) =>
    offered.map(({ currency, monthlyCents, yearlyCents }) => [
      tier,
      String(version),
      String(aiCredits),
      currency,
      formatMoney(monthlyCents, currency),
      formatMoney(yearlyCents, currency),
    ]),
  );
}

async function list(cli: CliContext, options: ListOptions) {
  const status = oneOf(STATUSES, '--status', options.status);
  const { InvoicesQuery } = await import('#billing');
  return withServices(cli, async ({ tenants, get }) =>
    get(InvoicesQuery).ofTenant((await findTenant(tenants, options.tenant)).id, status),
  );
}

function row(invoice: ListedInvoice): string[] {
  return [
    invoice.invoiceNumber ?? '–',
    invoice.status.toLowerCase(),
    formatMoney(invoice.amountCents, invoice.currency),
    invoice.billingReason,
    day(invoice.createdAt),
    day(invoice.dueAt),
    day(invoice.paidAt),
  ];
}

async function book(cli: CliContext, type: 'GRANT' | 'ADJUSTMENT', options: CreditOptions) {
  const { tenant, credits, description = null } = options;
  if (!/^-?\d{1,12}$/.test(credits)) throw new UsageError('--credits must be an integer');
  const addition = { type, credits: Number(credits), description };
  const { CreditsService } = await import('#billing');
  const names = { credits: '--credits', description: '--description' };
  const transaction = await withServices(cli, async ({ get, tenants }) => {
    const { id } = await findTenant(tenants, tenant);
    return namingOptions(names, () => get(CreditsService).add(id, addition));
  });
  return { tenantKey: tenant, ...transaction };
}

function balanceText(booked: { readonly tenantKey: string; readonly balanceAfter?: number }): string {
  return `${booked.tenantKey} has ${booked.balanceAfter ?? 0} AI credits.`;
}
