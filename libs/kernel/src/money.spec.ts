import { describe, expect, it } from '@jest/globals';
import { formatMoney } from './money.js';

describe('An amount of money', () => {
  it.each([
    [123_450, 'EUR', '1,234.50 EUR'],
    [-1_450, 'USD', '−14.50 USD'],
    [0, 'GBP', '0.00 GBP'],
    [1_234, 'JPY', '1,234 JPY'],
    [1_234, 'KWD', '1.234 KWD'],
  ])('of %s minor units of %s is written %s', (minorUnits, currency, text) => {
    expect(formatMoney(minorUnits, currency)).toBe(text);
  });
});
