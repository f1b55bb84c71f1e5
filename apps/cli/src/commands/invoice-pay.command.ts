import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { namingInvoice } from '../naming-invoice.js';

interface Options {
  readonly invoice: string;
  readonly json?: true;
}

export function addInvoicePay(program: Command, cli: CliContext): void {
  program
    .command('invoice:pay')
    .description('mark an invoice as paid; its subscription continues')
    .requiredOption('--invoice <number>', 'its number, e.g. ACME-2026-000001')
    .option('--json', 'print one line of JSON')
    .action(async ({ invoice, json }: Options) => {
      const [{ InvoicePayments }, { withServices }] = await Promise.all([
        import('#billing'),
        import('../operator-services.js'),
      ]);
      await withServices(cli.env, ({ get }) =>
        namingInvoice(invoice, () => get(InvoicePayments).pay(invoice)),
      );
      printResult(cli, json, { invoiceNumber: invoice, status: 'PAID' }, () => `Paid ${invoice}.`);
    });
}
