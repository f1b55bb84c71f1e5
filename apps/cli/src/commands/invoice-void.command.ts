import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { namingInvoice } from '../naming-invoice.js';

interface Options {
  readonly invoice: string;
  readonly json?: true;
}

export function addInvoiceVoid(program: Command, cli: CliContext): void {
  program
    .command('invoice:void')
    .description('void an invoice; it keeps its number')
    .requiredOption('--invoice <number>', 'its number, e.g. ACME-2026-000001')
    .option('--json', 'print one line of JSON')
    .action(async ({ invoice, json }: Options) => {
      const [{ InvoicePayments }, { withServices }] = await Promise.all([
        import('#billing'),
        import('../operator-services.js'),
      ]);
      await withServices(cli.env, ({ get }) =>
        namingInvoice(invoice, () => get(InvoicePayments).void(invoice)),
      );
      printResult(cli, json, { invoiceNumber: invoice, status: 'VOID' }, () => `Voided ${invoice}.`);
    });
}
