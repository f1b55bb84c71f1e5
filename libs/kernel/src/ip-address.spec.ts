import { describe, expect, it } from '@jest/globals';
import { firstIpAddress, networkOf, parseIpAddress } from './ip-address.js';

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

  it.each([
    ['203.0.113.7', '203.0.113.0/24'],
    ['::ffff:203.0.113.7', '203.0.113.0/24'],
    ['2001:DB8:0:7::7', '2001:db8:0::/48'],
    ['2001:db8::7', '2001:db8:0::/48'],
    ['::1', '0:0:0::/48'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0::/48'],
    ['nothing', null],
  ])('%s is of the network %s', (text, network) => {
    expect(networkOf(text)).toBe(network);
  });

  it('is the first of a list that is one', () => {
    expect(firstIpAddress('unknown, 203.0.113.7:80, 10.0.0.1')).toBe('203.0.113.7');
    expect(firstIpAddress('unknown,')).toBeNull();
  });
});
