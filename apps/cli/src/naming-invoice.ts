import { NotFoundError } from '#kernel';
import { OperatorError } from './failures.js';

/** Runs `work` and names the invoice when it does not exist. */
export async function namingInvoice(invoiceNumber: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new OperatorError('unknown-invoice', `There is no invoice ${invoiceNumber}.`);
  }
}
