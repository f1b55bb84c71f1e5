const formats = new Map<string, Intl.NumberFormat>();

/** An amount of minor units in the digits of `locale`: `1,234.50 EUR`; yen have no minor unit (ISO 4217). */
export function formatMoney(minorUnits: number, currency: string, locale = 'en'): string {
  const key = `${locale} ${currency}`;
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  const format =
    formats.get(key) ??
    new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  formats.set(key, format);
  const sign = minorUnits < 0 ? '−' : '';
  return `${sign}${format.format(Math.abs(minorUnits) / 10 ** digits)} ${currency}`;
}
