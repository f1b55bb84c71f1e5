export interface InvoiceAmounts {
  readonly subtotalCents: number;
  /** Hundredths of a percent: 2300 is 23 %. */
  readonly taxRateBp: number;
  readonly taxCents: number;
  readonly amountCents: number;
}

/**
 * The sums of an invoice. The tax of the whole is rounded once, half to even. Throws `RangeError` when the lines come to
 * less than nothing.
 */
export function amountsOf(
  lines: readonly { readonly amountCents: number }[],
  taxRateBp: number,
): InvoiceAmounts {
  const subtotalCents = lines.reduce((sum, { amountCents }) => sum + amountCents, 0);
  if (subtotalCents < 0) throw new RangeError('An invoice cannot come to less than nothing.');
  const taxCents = share(subtotalCents, taxRateBp, 10_000);
  return { subtotalCents, taxRateBp, taxCents, amountCents: subtotalCents + taxCents };
}

/**
 * `amount` (whole, 0 or more) × part ∕ whole, rounded half to even: over many roundings the halves go up as often
 * as down.
 */
export function share(amount: number, part: number, whole: number): number {
  const [dividend, divisor] = [BigInt(amount) * BigInt(part), BigInt(whole)];
  const quotient = dividend / divisor;
  const twice = (dividend % divisor) * 2n;
  const up = twice > divisor || (twice === divisor && quotient % 2n === 1n);
  return Number(up ? quotient + 1n : quotient);
}
