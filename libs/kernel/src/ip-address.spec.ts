import { describe, expect, it } from '@jest/globals';
import {
  addressesIn,
  firstIpAddress,
  isWithinNetworks,
  networkOf,
  parseIpAddress,
  parseNetwork,
} from './ip-address.js';

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
    ['2001:DB8:0:7::7', '2001:db8::/48'],
    ['2001:db8::7', '2001:db8::/48'],
    ['2001:0db8:0001::7', '2001:db8:1::/48'],
    ['::1', '::/48'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['64:ff9b::203.0.113.7', '64:ff9b::/48'],
    ['nothing', null],
  ])('%s is of the network %s', (text, network) => {
    expect(networkOf(text)).toBe(network);
  });

  it('is the first of a list that is one', () => {
    expect(firstIpAddress('unknown, 203.0.113.7:80, 10.0.0.1')).toBe('203.0.113.7');
    expect(firstIpAddress('unknown,')).toBeNull();
  });
});

describe('a network in text', () => {
  it.each([
    ['203.0.113.0/24', '203.0.113.0/24'],
    [' 203.0.113.7 ', '203.0.113.7/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::/32', '2001:db8::/32'],
    ['2001:0db8:0000:0000:0001:0000:0000:0001', '2001:db8::1:0:0:1/128'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221/128'],
    ['::/0', '::/0'],
    ['::', '::/128'],
    ['::ffff:203.0.113.0/120', '203.0.113.0/24'],
    ['::ffff:cb00:7107', '203.0.113.7/32'],
    ['::ffff:0:0/96', '0.0.0.0/0'],
  ])('%s is %s', (text, network) => {
    expect(parseNetwork(text)).toEqual({ network });
    expect(parseNetwork(network)).toEqual({ network });
  });

  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['203.0.113.7/31', '203.0.113.6/31'],
    ['10.0.0.1/0', '0.0.0.0/0'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::ffff:203.0.113.7/120', '203.0.113.0/24'],
  ])('%s has bits behind its prefix, and is told what it may have meant: %s', (text, network) => {
    expect(parseNetwork(text)).toEqual({ fault: `has bits behind its prefix: write ${network}` });
  });

  it.each([
    '',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0/24',
    '010.0.0.0/8',
    '10.0.0.0/255.0.0.0',
    '10.0.0.0 /8',
    'fe80::1%eth0/64',
    '[2001:db8::]/32',
    'example.com',
    '*',
  ])('%s is none', (text) => {
    expect(parseNetwork(text)).toEqual({
      fault: expect.stringMatching(/^must be an IP address or a network/),
    });
  });

  it.each(['10.0.0.0/33', '2001:db8::/129', '10.0.0.0/999'])('%s is longer than its address', (text) => {
    expect(parseNetwork(text)).toEqual({ fault: expect.stringMatching(/^must have a prefix of at most/) });
  });
});

describe('addresses of networks', () => {
  it.each([
    ['203.0.113.255', true],
    ['203.0.114.0', false],
    ['::ffff:203.0.113.1', true],
    ['::ffff:cb00:7101', true],
    ['2001:db8:ffff::1', true],
    ['2001:db9::', false],
    ['198.51.100.7', true],
    ['198.51.100.8', false],
    ['not an address', false],
  ])('%s: %s', (address, isIn) => {
    expect(addressesIn(['203.0.113.0/24', '2001:db8::/32', '198.51.100.7/32'])(address)).toBe(isIn);
  });

  it('of IPv6 are none of IPv4, and those of no network are none', () => {
    expect(addressesIn(['::/0'])('203.0.113.7')).toBe(false);
    expect(addressesIn(['0.0.0.0/0'])('2001:db8::1')).toBe(false);
    expect(addressesIn([])('203.0.113.7')).toBe(false);
  });

  it.each([
    ['203.0.113.0/25', true],
    ['203.0.113.0/24', true],
    ['203.0.112.0/23', false],
    ['0.0.0.0/0', false],
    ['2001:db8:1::/48', true],
    ['2001:d00::/24', false],
    ['::/0', false],
  ])('%s is within the others: %s', (network, isWithin) => {
    expect(isWithinNetworks(network, ['203.0.113.0/24', '2001:db8::/32'])).toBe(isWithin);
  });
});
