import { describe, expect, it } from '@jest/globals';
import { maskedAddress } from './page-view.js';

describe('a masked address', () => {
  it.each([
    ['jane@example.org', 'j•••@example.org'],
    ['j@example.org', '•••@example.org'],
    ['😀smile@example.org', '😀•••@example.org'],
    ['a@b@example.org', 'a•••@example.org'],
  ])('shows %s as %s', (address, shown) => {
    expect(maskedAddress(address)).toBe(shown);
  });
});
