import { share } from '../subscriptions/proration.js';
import type { InvoiceLine } from './invoice.js';

export interface InvoiceAmounts {
  readonly subtotalCents: number;
  readonly taxCents: number;
  readonly amountCents: number;
}

/**
 * The sums of an invoice; `taxRateBp` is in hundredths of a percent. The tax of the whole is rounded once, half to
 * even. Throws `RangeError` when the lines come to less than nothing.
 */
export function amountsOf(lines: readonly InvoiceLine[], taxRateBp: number): InvoiceAmounts {
  const subtotalCents = lines.reduce((sum, { amountCents }) => sum + amountCents, 0);
  if (subtotalCents < 0) throw new RangeError('An invoice cannot come to less than nothing.');
  const taxCents = share(subtotalCents, taxRateBp, 10_000);
  return { subtotalCents, taxCents, amountCents: subtotalCents + taxCents };
}
