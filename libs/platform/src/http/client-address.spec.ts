import { describe, expect, it } from '@jest/globals';
import { clientAddressReader } from './client-address.js';

const PROXY = '10.0.0.2';

describe('the client of a request', () => {
  it('is who connects, whatever the header says, where no proxy is trusted', () => {
    expect(clientAddressReader(false)('203.0.113.9', '6.6.6.6')).toBe('203.0.113.9');
    expect(clientAddressReader(['10.0.0.0/8'])('203.0.113.9', '6.6.6.6')).toBe('203.0.113.9');
  });

  it('is the first from the right that is no trusted proxy', () => {
    const read = clientAddressReader(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']);
    expect(read(PROXY, '6.6.6.6, 203.0.113.9')).toBe('203.0.113.9');
    expect(read(PROXY, '6.6.6.6, 203.0.113.9, 192.0.2.1, 10.9.9.9')).toBe('203.0.113.9');
    expect(read(`::ffff:${PROXY}`, '203.0.113.9, 2001:db8::1')).toBe('203.0.113.9');
    expect(read(PROXY, '6.6.6.6, 192.168.1.4')).toBe('192.168.1.4');
    expect(read(PROXY, undefined)).toBe(PROXY);
  });

  it('is what the proxy that connects has written, where any may connect', () => {
    const read = clientAddressReader(true);
    expect(read('203.0.113.1', '6.6.6.6, 203.0.113.9')).toBe('203.0.113.9');
    expect(read(PROXY, '6.6.6.6, 10.0.0.3')).toBe('10.0.0.3');
  });

  it('is always an address', () => {
    const read = clientAddressReader(true);
    expect(read(PROXY, "junk'--")).toBe(PROXY);
    expect(read(PROXY, '')).toBe(PROXY);
    expect(read(PROXY, '203.0.113.9:51234')).toBe('203.0.113.9');
    expect(read(PROXY, '[2001:db8::9]:51234')).toBe('2001:db8::9');
    expect(clientAddressReader(['10.0.0.0/8'])(PROXY, "6.6.6.6, junk'--, 10.0.0.3")).toBe('10.0.0.3');
  });
});
