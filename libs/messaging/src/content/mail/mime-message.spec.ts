import { describe, expect, it } from '@jest/globals';
import PostalMime, { type Email } from 'postal-mime';
import { array, assert, asyncProperty, constantFrom, oneof, runs, string } from '#testing/random/properties';
import { type MailBody, octetsOf } from '#kernel';
import { compileMergeTemplate } from '../merge/merge-template.js';
import type { MergeValues } from '../merge/merge-values.js';
import { HeaderValueError, listHeaders, systemHeaders, unsubscribeHeader } from './header-field.js';
import { buildMimeMessage, compileMimeSkeleton, type MimeMessage } from './mime-message.js';

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

const VALUES: MergeValues = {
  subscriber: {
    email: 'ann@mail.example',
    external_id: null,
    first_name: null,
    last_name: null,
    phone: null,
    locale: null,
    time_zone: null,
  },
  custom: {},
  topic: { name: 'News', key: 'APIT-1' },
  campaign: { name: 'First', key: 'APIT-001' },
  project: { name: 'Shop', postal_address: 'Street 1, 10115 Berlin' },
  links: {
    unsubscribe: 'https://x.example/u',
    preferences: 'https://x.example/p',
    view: 'https://x.example/v',
  },
};

const built = (message: MimeMessage): Buffer => octetsOf(buildMimeMessage(message));
const parse = (bytes: Buffer): Promise<Email> => PostalMime.parse(bytes);
/** The part as it was given: unix lines, without the line end that the parser adds. */
const bodyOf = (part: string | undefined): string => (part ?? '').replaceAll('\r\n', '\n').replace(/\n$/, '');

function headerLines(bytes: Buffer): string[] {
  const head = bytes.toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
  return head.split('\r\n');
}

/** Texts, many of which have dots where a line may begin. */
const withDots = (maxLength: number) =>
  oneof(string({ unit: 'grapheme', maxLength }), string({ unit: constantFrom('.', 'a', ' '), maxLength }));

/** Checks the properties that a message states of itself, by which it goes over the wire without being looked through. */
function expectKnown(message: MailBody): void {
  const bytes = octetsOf(message);
  const ascii = bytes.every((byte) => byte < 0x80);
  expect(message).toMatchObject({
    size: bytes.length,
    isAscii: ascii,
    hasAsciiHeaders: ascii,
    hasDots: false,
  });
}

function expectWireFormat(bytes: Buffer): void {
  const wire = bytes.toString('latin1');
  expect(wire).not.toMatch(/[^\t\r\n -~]/);
  expect(wire.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(wire).toMatch(/\r\n$/);
  // DATA would have to double it (RFC 5321 §4.5.2).
  expect(wire).not.toMatch(/^\./m);
  expect(Math.max(...wire.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
}

describe('a MIME message', () => {
  it('is exactly these bytes for a simple mail', () => {
    expect(built({ ...MESSAGE, headers: [['Precedence', 'bulk']] }).toString()).toBe(
      [
        'From: Example Shop <news@shop.example>',
        'To: ann@mail.example',
        'Subject: Hello',
        'Date: Sun, 01 Mar 2026 09:05:07 +0000',
        'Message-ID: <0198c7f2-0000-7000-8000-000000000001@shop.example>',
        'Precedence: bulk',
        'MIME-Version: 1.0',
        'Content-Type: multipart/alternative;',
        ' boundary="=_86fc208bc50c83b17eaed6547750b419"',
        '',
        '--=_86fc208bc50c83b17eaed6547750b419',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        'Hello',
        '--=_86fc208bc50c83b17eaed6547750b419',
        'Content-Type: text/html; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        '<p>Hello</p>',
        '--=_86fc208bc50c83b17eaed6547750b419--',
        '',
      ].join('\r\n'),
    );
  });

  it('gives equal bytes for equal input, and another boundary for another Message-ID', () => {
    expect(built(MESSAGE).equals(built({ ...MESSAGE }))).toBe(true);
    const other = built({ ...MESSAGE, messageId: 'other@shop.example' }).toString();
    const boundary = /boundary="([^"]+)"/.exec(built(MESSAGE).toString())?.[1] ?? '';
    expect(other).not.toContain(boundary);
  });

  it('carries the same from a skeleton, whatever the values are and wherever they stand', async () => {
    const fixed = withDots(200).map((text) => text.replaceAll(/[{}]/g, '='));
    const value = withDots(150);
    await assert(
      asyncProperty(array(fixed, { minLength: 2, maxLength: 8 }), value, async (texts, name) => {
        const source = `${texts.join('{{ subscriber.first_name }}')}.`;
        const html = compileMergeTemplate(source, 'html');
        const text = compileMergeTemplate(source, 'none');
        const values = {
          ...VALUES,
          subscriber: { ...VALUES.subscriber, external_id: null, first_name: name },
        };
        const message = compileMimeSkeleton({
          from: MESSAGE.from,
          language: 'pt-BR',
          headers: [['List-Id', '<a.b>']],
          html,
          text,
        }).build({
          ...MESSAGE,
          values,
        });
        expectKnown(message);
        const bytes = octetsOf(message);
        expectWireFormat(bytes);
        expect(
          Math.max(
            ...bytes
              .toString('latin1')
              .split('\r\n')
              .map((line) => line.length),
          ),
        ).toBeLessThanOrEqual(78);
        const mail = await parse(bytes);
        const direct = await parse(
          built({ ...MESSAGE, html: html.render(values), text: text.render(values) }),
        );
        expect([mail.html, mail.text].map(bodyOf)).toEqual([direct.html, direct.text].map(bodyOf));
        expect(mail.headers.find(({ key }) => key === 'list-id')?.value).toBe('<a.b>');
        expect(mail.headers.find(({ key }) => key === 'content-language')?.value).toBe('pt-BR');
      }),
      { numRuns: runs(200) },
    );
  });

  it('carries any subject, sender name and bodies unchanged, as ASCII lines of at most 998 bytes', async () => {
    const line = withDots(120);
    const body = array(line, { maxLength: 30 }).map((lines) => `${lines.join('\n')}.`);
    const printable = line.map((text) => text.replaceAll(/\p{Cc}/gu, ''));
    await assert(
      asyncProperty(printable, printable, body, body, async (subject, name, text, html) => {
        const message = buildMimeMessage({
          ...MESSAGE,
          from: { ...MESSAGE.from, name },
          subject,
          text,
          html,
        });
        expectKnown(message);
        const bytes = octetsOf(message);
        expectWireFormat(bytes);
        const mail = await parse(bytes);
        expect(mail.subject ?? '').toBe(subject.toWellFormed());
        expect(mail.from?.name ?? '').toBe(name.toWellFormed());
        expect(bodyOf(mail.text)).toBe(text);
        expect(bodyOf(mail.html)).toBe(html);
      }),
      { numRuns: runs(200) },
    );
  });

  it.each([
    ['an emoji family', '👩‍👩‍👧‍👦 '.repeat(40).trim()],
    ['a word of 1 000 characters', 'x'.repeat(1000)],
    ['text that looks like an encoded word', '=?UTF-8?Q?fake?='],
    ['blanks around and inside', '  a   b  '],
    ['Chinese', '限时优惠'.repeat(30)],
    ['German', 'Grüße aus Österreich – schöne Füße, süße Äpfel und noch viel mehr schöne Sätze'],
  ])('round-trips a subject with %s in encoded words of at most 75 characters', async (_, subject) => {
    const bytes = built({ ...MESSAGE, subject });
    for (const line of headerLines(bytes)) expect(line.length).toBeLessThanOrEqual(76);
    for (const [word] of bytes.toString().matchAll(/=\?UTF-8\?[QB]\?[^ ?]*\?=/g)) {
      expect(word.length).toBeLessThanOrEqual(75);
      expect((await parse(Buffer.from(`Subject: ${word}\r\n\r\n`))).subject).not.toContain('\uFFFD');
    }
    expect((await parse(bytes)).subject).toBe(subject.toWellFormed());
  });

  it('replaces half a character, which UTF-8 cannot carry', async () => {
    const mail = await parse(built({ ...MESSAGE, subject: 'a\uD83Db', text: 'c\uDE00d' }));
    expect(mail).toMatchObject({ subject: 'a\uFFFDb', text: expect.stringContaining('c\uFFFDd') });
  });

  it('round-trips bodies with long lines, emoji, dots, From lines and control characters', async () => {
    const text = `${'word '.repeat(400)}\n.\n..\nFrom here\n${'x'.repeat(1000)}\ntrailing \t\n\u0000\u0007é😀=41\n`;
    const html = `<p>${'😀'.repeat(3000)}</p>`;
    const bytes = built({ ...MESSAGE, text, html });
    expectWireFormat(bytes);
    for (const line of bytes.toString().split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    const mail = await parse(bytes);
    expect(bodyOf(mail.text)).toBe(text);
    expect(bodyOf(mail.html)).toBe(html);
  });

  it('chooses quoted-printable for mostly Latin text and base64 for other scripts', () => {
    const wire = built({
      ...MESSAGE,
      text: 'Viele Grüße an alle, die das hier lesen',
      html: '限时优惠'.repeat(10),
    }).toString();
    expect([...wire.matchAll(/Transfer-Encoding: (\S+)/g)].map((match) => match[1])).toEqual([
      'quoted-printable',
      'base64',
    ]);
  });

  it('never sends an empty part', () => {
    const wire = built({ ...MESSAGE, text: '', html: '' }).toString();
    expect(wire.match(/\r\n\r\n=20\r\n--/g)).toHaveLength(2);
  });

  it('has exactly one of each header that must be there once', () => {
    const names = headerLines(built(MESSAGE)).map((line) => line.split(':', 1)[0]);
    for (const name of ['Date', 'From', 'To', 'Subject', 'Message-ID', 'MIME-Version', 'Content-Type']) {
      expect(names.filter((other) => other === name)).toHaveLength(1);
    }
  });

  it('leaves a local part outside ASCII as UTF-8, which only an SMTPUTF8 server takes', async () => {
    const message = buildMimeMessage({ ...MESSAGE, to: 'jörg@xn--mller-kva.example' });
    expectKnown(message);
    expect(octetsOf(message).toString('utf8')).toContain('To: jörg@xn--mller-kva.example\r\n');
  });

  it('keeps a long URL in a header on one line', () => {
    const url = `<https://links.example/u/${'a'.repeat(300)}>`;
    const wire = built({
      ...MESSAGE,
      headers: [['List-Unsubscribe', `${url}, <mailto:u@b.example>`]],
    });
    expect(headerLines(wire)).toContain(`List-Unsubscribe: ${url},`);
    expect(headerLines(wire)).toContain(' <mailto:u@b.example>');
  });

  it('quotes or encodes a sender name so that it cannot become an address', async () => {
    for (const name of [
      'Ann "The Shop" \\ Co.',
      'Shop <eve@evil.example>',
      'a, b; c',
      'Müller & Söhne',
      'x'.repeat(90),
    ]) {
      const mail = await parse(built({ ...MESSAGE, from: { name, address: 'news@shop.example' } }));
      expect(mail.from).toEqual({ name, address: 'news@shop.example' });
    }
  });
});

const INPUT = {
  listId: 'acmt-1.acme.mail.example',
  listName: 'News, weekly',
  feedbackId: 'ACMC-1:ACMT-1:campaign:acme',
};

const URL_OF_MAIL = `https://mail.example/u/${'t'.repeat(200)}`;
const ADDRESS_OF_MAIL = 'unsubscribe+token@mail.example';

describe('list headers', () => {
  it('offer one-click unsubscription by web and by mail', () => {
    expect([unsubscribeHeader(URL_OF_MAIL, ADDRESS_OF_MAIL), ...listHeaders(INPUT)]).toEqual([
      ['List-Unsubscribe', `<${URL_OF_MAIL}>, <mailto:unsubscribe+token@mail.example>`],
      ['List-Id', '"News, weekly" <acmt-1.acme.mail.example>'],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
      ['Feedback-ID', 'ACMC-1:ACMT-1:campaign:acme'],
      ['Precedence', 'bulk'],
    ]);
  });

  it('stand in a message with the unsubscribe URL unbroken and a list name of any script', () => {
    const message = buildMimeMessage({
      from: { name: null, address: 'a@b.example' },
      to: 'c@d.example',
      subject: 'x',
      messageId: 'm@b.example',
      date: new Date(0),
      html: 'x',
      text: 'x',
      headers: [
        ...listHeaders({
          ...INPUT,
          listName: 'Wöchentliche Neuigkeiten für alle, die sie lesen möchten 📰',
        }),
        unsubscribeHeader(URL_OF_MAIL, ADDRESS_OF_MAIL),
      ],
    });
    const wire = octetsOf(message).toString();
    expect(wire).toContain(`\r\nList-Unsubscribe: <${URL_OF_MAIL}>,\r\n <mailto:`);
    expect(wire).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(wire).toMatch(/\r\nList-Id: =\?UTF-8\?/);
    expect(wire).not.toMatch(/[^\r\n -~]/);
  });

  it.each([
    { listId: 'not a list id' },
    { listId: 'a.b>\r\nX: y' },
    { listName: 'News\r\nBcc: x' },
    { feedbackId: 'a b\r\n' },
  ])('refuse %j', (change) => {
    expect(() => listHeaders({ ...INPUT, ...change })).toThrow(HeaderValueError);
  });

  it.each([
    ['https://a.example/>, <https://evil.example', ADDRESS_OF_MAIL],
    ['https://a.example/ x', ADDRESS_OF_MAIL],
    ['javascript:alert(1)', ADDRESS_OF_MAIL],
    [URL_OF_MAIL, 'a@b.example> <'],
  ])('refuse %j with %j to unsubscribe by', (url, address) => {
    expect(() => unsubscribeHeader(url, address)).toThrow(HeaderValueError);
  });
});

describe('system headers', () => {
  it('say that a machine wrote the mail, and name no list', () => {
    expect(systemHeaders()).toEqual([['Auto-Submitted', 'auto-generated']]);
  });
});
