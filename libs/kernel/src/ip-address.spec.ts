import { describe, expect, it } from '@jest/globals';
import { firstIpAddress, parseIpAddress } from './ip-address.js';

describe('an IP address in text', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    [' 203.0.113.7:52814 ', '203.0.113.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
  ])('%s is %s', (text, address) => {
    expect(parseIpAddress(text)).toBe(address);
  });

  it.each(["junk'--", '', 'unknown', '203.0.113', '256.1.1.1', '203.0.113.7:port', '[::1', 'a:b:c'])(
    '%s is none',
    (text) => {
      expect(parseIpAddress(text)).toBeNull();
    },
  );

  it('is the first of a list that is one', () => {
    expect(firstIpAddress('unknown, 203.0.113.7:80, 10.0.0.1')).toBe('203.0.113.7');
    expect(firstIpAddress('unknown,')).toBeNull();
  });
});
