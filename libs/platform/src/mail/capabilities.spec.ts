import { describe, expect, it } from '@jest/globals';
import { capabilitiesOf } from './capabilities.js';

const NOTHING = { pipelining: false, chunking: false, eightBitMime: false, smtpUtf8: false, size: null };

describe('what a relay offers', () => {
  it('is read from its EHLO reply, in any case of letters', () => {
    const reply =
      '250-relay.test Hello\n250-pipelining\n250-SIZE 35882577\n250-8BITMIME\n250-CHUNKING\n250 SMTPUTF8';
    expect(capabilitiesOf(reply)).toEqual({
      pipelining: true,
      chunking: true,
      eightBitMime: true,
      smtpUtf8: true,
      size: 35_882_577,
    });
  });

  it.each(['250-relay.test\n250 SIZE', '250-relay.test\n250 SIZE 0'])('has no size limit in %j', (reply) => {
    expect(capabilitiesOf(reply).size).toBe(0);
  });

  it.each([
    '250 PIPELINING is my name',
    '454 4.7.0 TLS not available',
    '',
    '250-relay.test\n250-XPIPELINING\n250 DSN',
  ])('is nothing in %j', (reply) => {
    expect(capabilitiesOf(reply)).toEqual(NOTHING);
  });
});
