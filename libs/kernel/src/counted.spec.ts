import { expect, it } from '@jest/globals';
import { counted } from './counted.js';

it('names one thing in the singular, and any other number of them in the plural', () => {
  expect([0, 1, 1n, 2].map((count) => counted(count, 'e-mail'))).toEqual([
    '0 e-mails',
    '1 e-mail',
    '1 e-mail',
    '2 e-mails',
  ]);
});
