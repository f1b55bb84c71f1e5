import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { hostName, maskAddress, maskAddresses, parseEmailAddress } from './email-address.js';

const keyOf = (input: string) => {
  const result = parseEmailAddress(input);
  return 'address' in result ? result.address.key : null;
};

describe('parseEmailAddress', () => {
  it.each([
    ['ada@example.com', 'ada@example.com'],
    ['  Ada.Lovelace+News@Example.COM ', 'ada.lovelace+news@example.com'],
    ["o'hara!#$%&*/=?^_`{|}~-@example.org", "o'hara!#$%&*/=?^_`{|}~-@example.org"],
    ['jürgen@bücher.example', 'jürgen@xn--bcher-kva.example'],
    ['ada@BÜCHER.example', 'ada@xn--bcher-kva.example'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
  ])('knows the mailbox of %s', (input, key) => {
    expect(keyOf(input)).toBe(key);
  });

  it.each([
    '',
    '@',
    'ada',
    'ada@',
    '@example.com',
    'ada@example',
    'ada@192.168.0.1',
    'ada@[192.168.0.1]',
    'ada@-example.com',
    'ada@exam ple.com',
    'ada@example.com/x',
    'ada@example.com?x',
    'ada@example.com#x',
    'ada@example.com\\x',
    'ada@ex%61mple.com',
    'ada lovelace@example.com',
    '.ada@example.com',
    'ada.@example.com',
    'a..b@example.com',
    '"ada lovelace"@example.com',
    'ada@example.com\r\nBcc: all@example.com',
    'ada\u0000@example.com',
    'ada\u200b@example.com',
    'ada\ud800@example.com',
    'ada,grace@example.com',
    'Ada <ada@example.com>',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'a'.repeat(64)}.com`,
    `ada@${`${'a'.repeat(60)}.`.repeat(5)}com`,
  ])('refuses %j', (input) => {
    expect(keyOf(input)).toBeNull();
  });

  it('gives one key to all spellings of one mailbox, and parses its own keys', () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,10}$/);
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9+_-]{1,20}$/), label, label, (local, domain, top) => {
        const key = keyOf(`${local}@${domain}.${top}`);
        expect(keyOf(` ${local.toUpperCase()}@${domain.toUpperCase()}.${top}`)).toBe(key);
        expect(keyOf(key ?? '')).toBe(key);
      }),
    );
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.codePoint, maxLength: 300 }),
        (input) => void parseEmailAddress(input),
      ),
    );
  });
});

describe('hostName', () => {
  it.each([
    ['Example.COM', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['localhost', null],
    ['exa_mple.com', null],
    ['example.com.', null],
    ['example.com/news', null],
    ['ex%61mple.com', null],
  ])('reads %s as %s', (input, expected) => {
    expect(hostName(input)).toBe(expected);
  });

  it('reads a name of ASCII as it reads it beside a label that is not', () => {
    const labels = fc.stringMatching(/^[A-Za-z0-9-]{0,5}\.[A-Za-z0-9.-]{0,8}$/);
    fc.assert(
      fc.property(
        fc.oneof(labels, fc.constantFrom('a.0x7f', 'a.xn--', 'XN--bcher-kva.de', 'a.1b')),
        (name) => {
          const alone = hostName(name);
          expect(hostName(`ü.${name}`)).toBe(alone === null ? null : `xn--tda.${alone}`);
        },
      ),
    );
  });
});

describe('a masked address', () => {
  it.each([
    ['ada@example.com', 'a…@example.com'],
    ['a@example.com', 'a…@example.com'],
    ['𝔸da@bücher.example', '𝔸…@bücher.example'],
  ])('of %s is %s', (address, masked) => {
    expect(maskAddress(address)).toBe(masked);
  });

  it('is all that is left of one in a text', () => {
    expect(maskAddresses(`550 5.1.1 <ada@example.com>: o'hara@example.org has no mailbox`)).toBe(
      '550 5.1.1 <a…@example.com>: o…@example.org has no mailbox',
    );
    expect(maskAddresses('421 4.7.0 Try again later')).toBe('421 4.7.0 Try again later');
  });
});
