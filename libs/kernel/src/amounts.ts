import { LRUCache } from 'lru-cache';

/** A count with its noun, whose plural ends in s: `1 mail`, `2 mails`. */
export function counted(count: number | bigint, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? '' : 's'}`;
}

/** Length of a text in Unicode code points, as JSON Schema and PostgreSQL count it. */
export function lengthOf(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** Digits after the point by ISO 4217: two for euros, none for yen. */
const moneyFormats = new LRUCache<string, Intl.NumberFormat, { locale: string; currency: string }>({
  max: 500,
  memoMethod: (_key, _stale, { context: { locale, currency } }) => {
    const { maximumFractionDigits = 2 } = new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
    }).resolvedOptions();
    return new Intl.NumberFormat(locale, {
      minimumFractionDigits: maximumFractionDigits,
      maximumFractionDigits,
    });
  },
});

/** An amount of minor units in the digits of `locale`: `1,234.50 EUR`. */
export function formatMoney(minorUnits: number, currency: string, locale = 'en'): string {
  const format = moneyFormats.memo(`${locale} ${currency}`, { context: { locale, currency } });
  const sign = minorUnits < 0 ? '−' : '';
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return `${sign}${format.format(Math.abs(minorUnits) / 10 ** digits)} ${currency}`;
}
