import type { Command } from 'commander';
import type { ListedInvoice } from '#billing';
import { formatMoney } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { UsageError } from '../failures.js';
import { findTenant } from '../find-tenant.js';
import { table } from '../table.js';

interface Options {
  readonly tenant: string;
  readonly status?: string;
  readonly json?: true;
}

const STATUSES = ['DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID'] as const;
const HEADINGS = ['NUMBER', 'STATUS', 'AMOUNT', 'FOR', 'CREATED', 'DUE', 'PAID'];

export function addInvoiceList(program: Command, cli: CliContext): void {
  program
    .command('invoice:list')
    .description('list a tenant’s invoices, newest first')
    .requiredOption('--tenant <key>', 'whose invoices')
    .option('--status <status>', 'only invoices that are draft, open, paid, uncollectible or void')
    .option('--json', 'print one line of JSON, with the addresses of the invoices’ pages')
    .action(async (options: Options) => {
      const status = statusOf(options.status);
      const [{ InvoicesQuery }, { withServices }] = await Promise.all([
        import('#billing'),
        import('../operator-services.js'),
      ]);
      const invoices = await withServices(cli.env, async ({ tenants, get }) => {
        const { id } = findTenant(await tenants.list(), options.tenant);
        return get(InvoicesQuery).ofTenant(id, status);
      });
      printResult(cli, options.json, invoices, () =>
        invoices.length === 0 ? 'There are no invoices.' : table(HEADINGS, invoices.map(row)),
      );
    });
}

function statusOf(given: string | undefined): (typeof STATUSES)[number] | undefined {
  if (given === undefined) return undefined;
  const status = STATUSES.find((candidate) => candidate === given.toUpperCase());
  if (status === undefined) {
    throw new UsageError(`--status must be one of ${STATUSES.join(', ').toLowerCase()}`);
  }
  return status;
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

function day(at: Date | null): string {
  return at === null ? '–' : at.toISOString().slice(0, 10);
}
