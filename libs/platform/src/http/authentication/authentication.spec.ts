import { describe, expect, it } from '@jest/globals';
import { assert, property, string } from '#testing/properties';
import { accepts } from './accept.js';
import { networkOf } from './client-network.js';
import { readCredentials } from './credentials.js';

describe('accepts', () => {
  it('takes everything without a header', () => {
    for (const header of [undefined, '', 'nonsense']) expect(accepts(header, 'application/json')).toBe(true);
  });

  it('lets the most specific range decide', () => {
    expect(accepts('application/*;q=0.5', 'application/json')).toBe(true);
    expect(accepts('application/json;q=0, application/*', 'application/json')).toBe(false);
    expect(accepts('text/html, application/*;q=0', 'application/json')).toBe(false);
    expect(accepts('*/*;q=0', 'application/json')).toBe(false);
    expect(accepts('Application/JSON; charset=utf-8', 'application/json')).toBe(true);
  });

  it('never fails, whatever is sent', () => {
    assert(property(string(), (header) => typeof accepts(header, 'application/json') === 'boolean'));
  });
});

describe('networkOf', () => {
  it('is an IPv4 address itself, also when it is written as IPv6', () => {
    expect(networkOf('203.0.113.7')).toBe('203.0.113.7');
    expect(networkOf('::ffff:203.0.113.7')).toBe('203.0.113.7');
  });

  it('is the first 64 bits of an IPv6 address, however it is written', () => {
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(networkOf('2001:0DB8:1:2::9')).toBe('2001:db8:1:2::/64');
    expect(networkOf('2001:db8::1')).toBe('2001:db8:0:0::/64');
    expect(networkOf('::1')).toBe('0:0:0:0::/64');
    expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  });
});

describe('readCredentials', () => {
  it('finds the key in either header, and both when they agree', () => {
    expect(readCredentials({ 'x-api-key': ' k ' })).toEqual({ kind: 'key', key: 'k' });
    expect(readCredentials({ authorization: 'BEARER k' })).toEqual({ kind: 'key', key: 'k' });
    expect(readCredentials({ 'x-api-key': 'k', authorization: 'Bearer k' })).toEqual({
      kind: 'key',
      key: 'k',
    });
  });

  it('finds none in an empty header or another scheme, and a contradiction in two keys', () => {
    expect(readCredentials({ 'x-api-key': '' })).toEqual({ kind: 'none' });
    expect(readCredentials({ authorization: 'Basic azp2' })).toEqual({ kind: 'none' });
    for (const authorization of ['Bearer other', 'Bearer k other', 'bearer k,k'])
      expect(readCredentials({ 'x-api-key': 'k', authorization })).toEqual({ kind: 'contradiction' });
    expect(readCredentials({ authorization: 'Bearer ' })).toEqual({ kind: 'none' });
  });
});
