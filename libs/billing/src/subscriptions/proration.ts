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
