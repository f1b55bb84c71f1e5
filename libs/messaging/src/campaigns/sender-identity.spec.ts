import { describe, expect, it } from '@jest/globals';
import { senderIdentity, senderName } from './from-addresses.service.js';

describe('the sender of a mail', () => {
  it.each([
    ['Acme', 'Acme'],
    [' Acme ', 'Acme'],
    [null, 'Acme News'],
    ['', 'Acme News'],
    ['   ', 'Acme News'],
  ])('with the own name %j is called %j: nobody gets mail from a blank', (own, shown) => {
    expect(senderName(own, 'Acme News')).toBe(shown);
  });

  it('has the first address that is one, its domain as A-labels', () => {
    expect(senderIdentity('Acme', null, 'nobody', 'news@exämple.com', 'other@example.com')).toEqual({
      name: 'Acme',
      address: 'news@xn--exmple-cua.com',
      domain: 'xn--exmple-cua.com',
    });
    expect(() => senderIdentity('Acme', null)).toThrow('No sender address is configured.');
  });
});
