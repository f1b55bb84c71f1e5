import { describe, expect, it } from '@jest/globals';
import { HeaderValueError } from './header-field.js';
import { buildMimeMessage, type MimeMessage } from './mime-message.js';

const MESSAGE: MimeMessage = {
  from: { name: 'Example Shop', address: 'news@shop.example' },
  to: 'ann@mail.example',
  subject: 'Hello',
  messageId: '0198c7f2-0000-7000-8000-000000000001@shop.example',
  date: new Date('2026-03-01T09:05:07Z'),
  html: '<p>Hello</p>',
  text: 'Hello',
  headers: [],
};

describe('a MIME message that would say more than was meant', () => {
  it.each(['\r\nBcc: eve@evil.example', '\n', '\r', '\u0000', '\u007f', '\u001b'])(
    'refuses the control character in %j in every header value',
    (attack) => {
      const changes: Partial<MimeMessage>[] = [
        { subject: `Hi${attack}` },
        { from: { name: `Shop${attack}`, address: 'news@shop.example' } },
        { from: { name: null, address: `news@shop.example${attack}` } },
        { to: `ann@mail.example${attack}` },
        { messageId: `<a@b.example>${attack}` },
        { headers: [['X-Any', `x${attack}`]] },
        { headers: [[`X-Any${attack}`, 'x']] },
      ];
      for (const change of changes) {
        expect(() => buildMimeMessage({ ...MESSAGE, ...change })).toThrow(HeaderValueError);
      }
    },
  );

  it.each([
    'ann@mail.example, eve@evil.example',
    'ann@mail.example;eve@evil.example',
    'Ann <ann@mail.example>',
    '<ann@mail.example>',
    'ann@mail.example (comment)',
    'ann',
    '',
    'a@b@c.example',
  ])('refuses %j as the one recipient', (to) => {
    expect(() => buildMimeMessage({ ...MESSAGE, to })).toThrow(HeaderValueError);
  });

  it('refuses headers that it writes itself, headers given twice and values no line can hold', () => {
    for (const name of [
      'Date',
      'FROM',
      'To',
      'Bcc',
      'Message-Id',
      'MIME-Version',
      'Content-Type',
      'a b',
      'x:y',
      '',
    ]) {
      expect(() => buildMimeMessage({ ...MESSAGE, headers: [[name, 'x']] })).toThrow(HeaderValueError);
    }
    expect(() =>
      buildMimeMessage({
        ...MESSAGE,
        headers: [
          ['X-A', '1'],
          ['x-a', '2'],
        ],
      }),
    ).toThrow(HeaderValueError);
    expect(() => buildMimeMessage({ ...MESSAGE, headers: [['X-A', 'x'.repeat(1000)]] })).toThrow(
      HeaderValueError,
    );
    expect(() => buildMimeMessage({ ...MESSAGE, date: new Date(Number.NaN) })).toThrow(HeaderValueError);
  });
});
