import { describe, expect, it } from '@jest/globals';
import { systemHeaders } from '../content/mail/header-field.js';
import { buildMimeMessage } from '../content/mail/mime-message.js';
import * as fc from '#testing/random/properties';
import { readMessageHeaders } from './message-headers.js';

function errorsOf(headers: Record<string, string>): Readonly<Record<string, string>> {
  const read = readMessageHeaders(headers);
  return 'errors' in read ? read.errors : {};
}

describe('headers that a client gives a message', () => {
  it('are X- ones and those of a conversation, in their order', () => {
    const headers = {
      'X-Entity-Ref-ID': 'order-17',
      'In-Reply-To': '<a@shop.example>',
      References: '<a@shop.example> <b@shop.example>',
      'X-Priority': '1',
      'x-auto-response-suppress': 'All',
    };
    expect(readMessageHeaders(headers)).toEqual({ headers: Object.entries(headers) });
  });

  it.each([
    'From',
    'To',
    'Bcc',
    'DKIM-Signature',
    'Return-Path',
    'List-Unsubscribe',
    'Feedback-ID',
    'Content-Type',
    'Date',
    'Sender',
    '',
    'X-',
    'X-A B',
    'X-A:',
    'X-Ä',
    ' X-A',
    '__proto__',
    `X-${'a'.repeat(80)}`,
  ])('are not %j', (name) => {
    expect(errorsOf(Object.fromEntries([[name, 'x']]))).toEqual(
      Object.fromEntries([[`headers["${name}"]`, 'must be a header X-…, References or In-Reply-To']]),
    );
  });

  it.each([
    'X-Mailwright-Id',
    'X-SES-CONFIGURATION-SET',
    'X-PM-Message-Stream',
    'x-smtpapi',
    'X-Mailgun-Track',
    'X-Mailin-custom',
    'X-Spam-Status',
    'X-MS-Exchange-Organization-SCL',
  ])('are not %s, which others read or write', (name) => {
    expect(errorsOf({ [name]: 'x' })).toEqual({
      [`headers["${name}"]`]: expect.stringContaining('read or written by'),
    });
  });

  it.each([
    ['X-A', 'a\r\nBcc: eve@evil.example', 'line ends'],
    ['X-A', 'a\nb', 'line ends'],
    ['X-A', 'a\u0000b', 'line ends'],
    ['X-A', '  ', '1 to 2000'],
    ['X-A', 'a '.repeat(1_001), '1 to 2000'],
    ['X-A', 'a'.repeat(901), 'no word of more than 900'],
    ['References', 'a@shop.example', 'angle brackets'],
    ['References', '<a@shop.example>,<b@shop.example>', 'angle brackets'],
    ['In-Reply-To', '<a b@shop.example>', 'angle brackets'],
  ])('%s may not be %j', (name, value, fault) => {
    expect(errorsOf({ [name]: value })).toEqual({ [`headers["${name}"]`]: expect.stringContaining(fault) });
  });

  it('have no line end in their names either', () => {
    expect(errorsOf({ 'X-A\r\nBcc': 'x' })).toEqual({
      'headers["X-A  Bcc"]': expect.stringContaining('must be'),
    });
  });

  it('are 20 at most, each once', () => {
    const some = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`X-${at}`, 'x']));
    expect(errorsOf(some(20))).toEqual({});
    expect(errorsOf(some(21))).toEqual({ headers: 'must be 20 headers at most' });
    expect(errorsOf({ 'X-A': '1', 'x-a': '2' })).toEqual({ 'headers["x-a"]': 'is given twice' });
  });

  it('always fit into a message where they are taken', () => {
    const name = fc.oneof(
      fc.constantFrom('References', 'X-A', 'x-a'),
      fc.string({ unit: 'grapheme' }).map((text) => `X-${text}`),
    );
    const word = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('<a@b.example>', ' ', 'x'.repeat(899)),
    );
    const value = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 4 }), (given) => {
        const read = readMessageHeaders(given);
        if ('errors' in read) return;
        buildMimeMessage({
          from: { name: null, address: 'a@shop.example' },
          to: 'b@mail.example',
          subject: 'x',
          messageId: 'm@shop.example',
          date: new Date(0),
          headers: [...systemHeaders(), ...read.headers],
          html: null,
          text: 'x',
        });
      }),
      { numRuns: fc.runs(500) },
    );
  });
});
