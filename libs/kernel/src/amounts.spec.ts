import { describe, expect, it } from '@jest/globals';
import { counted, formatMoney } from './amounts.js';

it('names one thing in the singular, and any other number of them in the plural', () => {
  expect([0, 1, 1n, 2].map((count) => counted(count, 'e-mail'))).toEqual([
    '0 e-mails',
    '1 e-mail',
    '1 e-mail',
    '2 e-mails',
  ]);
});

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
