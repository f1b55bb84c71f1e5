import type { Command } from 'commander';
import { NotFoundError } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';

interface Options {
  readonly invoice: string;
  readonly json?: true;
}

const SETTLEMENTS = {
  pay: { status: 'PAID', done: 'Paid', description: 'mark an invoice as paid; its subscription continues' },
  void: { status: 'VOID', done: 'Voided', description: 'void an invoice; it keeps its number' },
} as const;

export const addInvoicePay = (program: Command, cli: CliContext): void => add('pay', program, cli);
export const addInvoiceVoid = (program: Command, cli: CliContext): void => add('void', program, cli);

function add(action: keyof typeof SETTLEMENTS, program: Command, cli: CliContext): void {
  const { status, done, description } = SETTLEMENTS[action];
  program
    .command(`invoice:${action}`)
    .description(description)
    .requiredOption('--invoice <number>', 'its number, e.g. ACME-2026-000001')
    .option('--json', 'print one line of JSON')
    .action(async ({ invoice, json }: Options) => {
      const [{ SubscriptionsService }, { withServices }] = await Promise.all([
        import('#billing'),
        import('../operator-services.js'),
      ]);
      await withServices(cli.env, ({ get }) => get(SubscriptionsService)[`${action}Invoice`](invoice)).catch(
        (error: unknown) => {
          if (!(error instanceof NotFoundError)) throw error;
          throw new OperatorError('unknown-invoice', `There is no invoice ${invoice}.`);
        },
      );
      printResult(cli, json, { invoiceNumber: invoice, status }, () => `${done} ${invoice}.`);
    });
}
