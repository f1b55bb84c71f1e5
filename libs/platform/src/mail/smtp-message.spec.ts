import { describe, expect, it } from '@jest/globals';
import { joinOctets, type MailBody, octetsOf, sizeOf } from '#kernel';
import * as fc from '#testing/random/properties';
import { bodyOf, capabilitiesOf, dataOf } from './smtp-message.js';

/** Message as a server reads it, RFC 5321 §4.5.2: lines up to the one that is a single dot, without the added dots. */
function received(octets: Buffer): { message: string; rest: string } {
  const lines = octets.toString('latin1').split('\r\n');
  const end = lines.indexOf('.');
  const message = lines.slice(0, end).map((line) => `${line.startsWith('.') ? line.slice(1) : line}\r\n`);
  return { message: message.join(''), rest: lines.slice(end + 1).join('\r\n') };
}

const sent = (body: MailBody): Buffer => {
  const pieces = dataOf(body);
  return joinOctets(pieces, Buffer.alloc(sizeOf(pieces)));
};

describe('a body', () => {
  it.each([
    ['a\r\nb\r\n', 'a\r\nb\r\n.\r\n'],
    ['a', 'a\r\n.\r\n'],
    ['', '.\r\n'],
    ['.', '..\r\n.\r\n'],
    ['a\r\n.\r\n..b\r\n', 'a\r\n..\r\n...b\r\n.\r\n'],
    ['a\n.\nb', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\r.\rb\r', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\r\r\n.\r\n', 'a\r\n\r\n..\r\n.\r\n'],
  ])('of %j is sent as %j', (raw, octets) => {
    expect(sent(bodyOf(Buffer.from(raw))).toString()).toBe(octets);
  });

  it('arrives as it was composed, and nothing in it can end it early', () => {
    const piece = fc.constantFrom(
      '.',
      '\r',
      '\n',
      '\r\n',
      '\r\n.\r\n',
      '\n.\n',
      '\r.\r',
      'x',
      'ü',
      'MAIL FROM:<a@b>',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const raw = Buffer.from(pieces.join(''));
        const lines = raw.toString('latin1').split(/\r\n|\r|\n/);
        if (lines.at(-1) === '') lines.pop();
        const composed = lines.map((line) => `${line}\r\n`).join('');
        const body = bodyOf(raw);
        const octets = sent(body);
        expect(received(octets)).toEqual({ message: composed, rest: '' });
        expect(octetsOf(body).toString('latin1')).toBe(composed);
        expect(body.size).toBe(composed.length);
        expect(octets.toString('latin1')).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
        expect(body.isAscii).toBe(!pieces.includes('ü'));
      }),
    );
  });
});

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
