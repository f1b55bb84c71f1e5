/** An amount of minor units as people write it: `1,234.50 EUR`. */
export function money(minorUnits: number, currency: string): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' });
  const { maximumFractionDigits = 2 } = format.resolvedOptions();
  const number = new Intl.NumberFormat('en', {
    minimumFractionDigits: maximumFractionDigits,
    maximumFractionDigits,
  });
  return `${number.format(minorUnits / 10 ** maximumFractionDigits)} ${currency}`;
}
