import { describe, expect, it } from '@jest/globals';
import PostalMime, { type Attachment as ReadAttachment, type Email } from 'postal-mime';
import { octetsOf, sizeOf } from '#kernel';
import { turnsDuring } from '#testing/time/loop-turns';
import * as fc from '#testing/random/properties';
import { type Attachment, encodeAttachments } from './attachment-part.js';
import { buildMimeMessage, type MimeMessage } from './mime-message.js';

const MESSAGE: MimeMessage = {
  from: { name: 'Example Shop', address: 'shop@shop.example' },
  to: 'ann@mail.example',
  subject: 'Your invoice',
  messageId: '0198c7f2-0000-7000-8000-000000000001@shop.example',
  date: new Date('2026-03-01T09:05:07Z'),
  html: '<p>Hello <img src="cid:logo"></p>',
  text: 'Hello',
  headers: [],
};

const PDF: Attachment = {
  filename: 'invoice.pdf',
  contentType: { type: 'application/pdf', parameters: {} },
  content: Buffer.from('%PDF-1.7 …'),
  contentId: null,
};
const LOGO: Attachment = {
  filename: 'logo.png',
  contentType: { type: 'image/png', parameters: {} },
  content: Buffer.from('\x89PNG', 'latin1'),
  contentId: 'logo',
};
const CALENDAR: Attachment = {
  filename: 'invite.ics',
  contentType: { type: 'text/calendar', parameters: { charset: 'utf-8', method: 'REQUEST' } },
  content: Buffer.from('BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n'),
  contentId: null,
};

async function wireOf(
  attachments: readonly Attachment[],
  change: Partial<MimeMessage> = {},
): Promise<Buffer> {
  const message = buildMimeMessage({
    ...MESSAGE,
    ...change,
    attachments: await encodeAttachments(attachments),
  });
  const wire = octetsOf(message);
  expect(message).toMatchObject({ size: wire.length, isAscii: true, hasAsciiHeaders: true, hasDots: false });
  expectWireFormat(wire.toString('latin1'));
  return wire;
}

function expectWireFormat(wire: string): void {
  expect(wire).not.toMatch(/[^\t\r\n -~]/);
  expect(wire.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(wire).toMatch(/[^\r\n]\r\n$/);
  expect(wire).not.toMatch(/^\./m);
  for (const line of wire.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
}

/** Media types of all entities, indented by their depth, in their order. */
function layersOf(wire: Buffer): string[] {
  const open: string[] = [];
  const layers: string[] = [];
  const boundaries = [...wire.toString('latin1').matchAll(/boundary="([^"]+)"/g)].map(
    ([, boundary]) => boundary!,
  );
  for (const line of wire
    .toString('latin1')
    .replaceAll(/\r\n[ \t]/g, ' ')
    .split('\r\n')) {
    const closed = boundaries.find((boundary) => line === `--${boundary}--`);
    if (closed !== undefined) open.pop();
    const [, type, parameters = ''] = /^Content-Type: ([^;]+)(.*)/.exec(line) ?? [];
    if (type === undefined) continue;
    layers.push('  '.repeat(open.length) + type);
    if (type.startsWith('multipart/')) open.push(parameters);
  }
  expect(open).toEqual([]);
  return layers;
}

const read = (wire: Buffer): Promise<Email> => PostalMime.parse(wire, { attachmentEncoding: 'arraybuffer' });
const bytesOf = ({ content }: ReadAttachment): Buffer => Buffer.from(content as ArrayBuffer);

describe('the layers of a message', () => {
  it.each([
    ['text alone', [], { html: null }, ['text/plain']],
    ['text and HTML', [], {}, ['multipart/alternative', '  text/plain', '  text/html']],
    ['text with a file', [PDF], { html: null }, ['multipart/mixed', '  text/plain', '  application/pdf']],
    [
      'HTML with a file',
      [PDF],
      {},
      ['multipart/mixed', '  multipart/alternative', '    text/plain', '    text/html', '  application/pdf'],
    ],
    [
      'HTML that shows an image',
      [LOGO],
      {},
      ['multipart/related', '  multipart/alternative', '    text/plain', '    text/html', '  image/png'],
    ],
    [
      'HTML that shows an image, with files',
      [PDF, LOGO, PDF],
      {},
      [
        'multipart/mixed',
        '  multipart/related',
        '    multipart/alternative',
        '      text/plain',
        '      text/html',
        '    image/png',
        '  application/pdf',
        '  application/pdf',
      ],
    ],
    [
      'an invitation, as an alternative and as a file',
      [CALENDAR],
      {},
      [
        'multipart/mixed',
        '  multipart/alternative',
        '    text/plain',
        '    text/html',
        '    text/calendar',
        '  text/calendar',
      ],
    ],
    [
      'an invitation in text alone',
      [CALENDAR],
      { html: null },
      [
        'multipart/mixed',
        '  multipart/alternative',
        '    text/plain',
        '    text/calendar',
        '  text/calendar',
      ],
    ],
    [
      'a calendar that asks for nothing',
      [{ ...CALENDAR, contentType: { type: 'text/calendar', parameters: { method: 'PUBLISH' } } }],
      { html: null },
      ['multipart/mixed', '  text/plain', '  text/calendar'],
    ],
  ])('are as few as needed for %s', async (_, attachments, change, layers) => {
    expect(layersOf(await wireOf(attachments, change))).toEqual(layers);
  });

  it('are exactly these bytes', async () => {
    const wire = await wireOf([LOGO, PDF]);
    const content = wire
      .toString()
      .split('Message-ID: <0198c7f2-0000-7000-8000-000000000001@shop.example>\r\n')[1];
    expect(content).toBe(
      [
        'MIME-Version: 1.0',
        'Content-Type: multipart/mixed;',
        ' boundary="=_1f58d4dc09b921b8796dbcdcea96bee3"',
        '',
        '--=_1f58d4dc09b921b8796dbcdcea96bee3',
        'Content-Type: multipart/related;',
        ' type="multipart/alternative";',
        ' boundary="=_e50718a51494b76bd6a39a6354f800ad"',
        '',
        '--=_e50718a51494b76bd6a39a6354f800ad',
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
        '<p>Hello <img src="cid:logo"></p>',
        '--=_86fc208bc50c83b17eaed6547750b419--',
        '--=_e50718a51494b76bd6a39a6354f800ad',
        'Content-Type: image/png;',
        ' name=logo.png',
        'Content-Transfer-Encoding: base64',
        'Content-Disposition: inline;',
        ' filename=logo.png',
        'Content-ID: <logo>',
        '',
        'iVBORw==',
        '--=_e50718a51494b76bd6a39a6354f800ad--',
        '--=_1f58d4dc09b921b8796dbcdcea96bee3',
        'Content-Type: application/pdf;',
        ' name=invoice.pdf',
        'Content-Transfer-Encoding: base64',
        'Content-Disposition: attachment;',
        ' filename=invoice.pdf',
        '',
        'JVBERi0xLjcg4oCm',
        '--=_1f58d4dc09b921b8796dbcdcea96bee3--',
        '',
      ].join('\r\n'),
    );
  });

  it('have boundaries that follow from the Message-ID and the layer', async () => {
    const [once, again] = [await wireOf([LOGO, PDF]), await wireOf([LOGO, PDF])];
    expect(once.equals(again)).toBe(true);
    const other = await wireOf([LOGO, PDF], { messageId: 'other@shop.example' });
    const boundaries = [once, other].flatMap((wire) =>
      [...wire.toString().matchAll(/boundary="([^"]+)"/g)].map(([, boundary]) => boundary),
    );
    expect(new Set(boundaries).size).toBe(6);
  });
});

describe('an attachment', () => {
  it('keeps its type, its name, its Content-ID and its place', async () => {
    const mail = await read(await wireOf([PDF, LOGO, CALENDAR]));
    expect(mail.html).toContain('cid:logo');
    expect(
      mail.attachments.map(({ filename, mimeType, disposition, contentId, method }) => [
        filename,
        mimeType,
        disposition,
        contentId,
        method,
      ]),
    ).toEqual([
      [null, 'text/calendar', null, undefined, 'REQUEST'],
      ['logo.png', 'image/png', 'inline', '<logo>', undefined],
      ['invoice.pdf', 'application/pdf', 'attachment', undefined, undefined],
      ['invite.ics', 'text/calendar', 'attachment', undefined, 'REQUEST'],
    ]);
    // The parser makes each line end of a calendar a plain newline.
    const text = CALENDAR.content.toString().replaceAll('\r\n', '\n');
    for (const calendar of mail.attachments.filter(({ mimeType }) => mimeType === 'text/calendar'))
      expect(bytesOf(calendar).toString()).toBe(text);
  });

  it('comes out with the name and the bytes that went in, whatever they are', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 120 })
      .map((text) => text.replaceAll(/\p{Cc}/gu, '').trim())
      .filter((text) => text !== '');
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.uint8Array({ minLength: 58_300, maxLength: 58_500 }),
    );
    await fc.assert(
      fc.asyncProperty(name, content, async (filename, bytes) => {
        const attachment = { ...PDF, filename, content: Buffer.from(bytes) };
        const { attachments } = await read(await wireOf([attachment]));
        expect(attachments.map((one) => one.filename)).toEqual([filename]);
        expect(bytesOf(attachments[0]!).equals(attachment.content)).toBe(true);
      }),
      { numRuns: fc.runs(100) },
    );
  });

  it.each([
    ['Rechnung für März.pdf', '"Rechnung fur Marz.pdf"'],
    ['請求書.pdf', '_.pdf'],
    ['a "b" \\ c.txt', '"a _b_ _ c.txt"'],
    ['=?UTF-8?Q?x?=.txt', '"_UTF-8?Q?x?=.txt"'],
    [`${'ü'.repeat(200)}.docx`, `${'u'.repeat(55)}.docx`],
  ])('%s is named %s in ASCII for readers that know no RFC 2231', async (filename, name) => {
    const wire = (await wireOf([{ ...PDF, filename }])).toString();
    expect(wire).toContain(`Content-Type: application/pdf;\r\n name=${name}\r\n`);
    expect(wire).not.toMatch(/filename=/);
  });

  it.each(['a\r\nBcc: eve@evil.example', 'a\u0000b'])('is refused with the name %j', async (filename) => {
    await expect(encodeAttachments([{ ...PDF, filename }])).rejects.toThrow('control character');
  });

  it('of 10 MB is encoded in pieces of some 80 KB, the event loop going on between them', async () => {
    const content = Buffer.alloc(10 * 1_024 * 1_024, 'a few bytes and their neighbours');
    const encoding = encodeAttachments([{ ...PDF, content }]);
    const turns = await turnsDuring(encoding);
    const [encoded] = await encoding;
    const { pieces } = encoded!;
    expect(turns).toBeGreaterThanOrEqual(pieces.length - 1);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(80_000);
    // Nothing but these outlives the encoding.
    expect(sizeOf(pieces) / content.length).toBeLessThan(1.37);
  });

  it('is held once by a message that has it twice', async () => {
    const [calendar] = await encodeAttachments([CALENDAR]);
    const { pieces } = buildMimeMessage({ ...MESSAGE, attachments: [calendar!] });
    const [piece] = calendar!.pieces;
    expect(pieces.filter((one) => one === piece)).toHaveLength(2);
  });
});

describe('a message to several', () => {
  it('names them and those who take answers, and hides nobody else', async () => {
    const wire = await wireOf([], {
      to: { name: 'Ann, the first', address: 'ann@mail.example' },
      cc: [{ name: 'Jürgen Müller', address: 'juergen@mail.example' }, 'carl@mail.example'],
      replyTo: ['help@shop.example', { name: 'Sales', address: 'sales@shop.example' }],
      headers: [
        ['References', Array.from({ length: 20 }, (_, at) => `<message-${at}@mail.example>`).join(' ')],
        ['In-Reply-To', '<message-19@mail.example>'],
        ['X-Double', 'two  blanks stay'],
      ],
    });
    const mail = await read(wire);
    expect(mail.to).toEqual([{ name: 'Ann, the first', address: 'ann@mail.example' }]);
    expect(mail.cc).toEqual([
      { name: 'Jürgen Müller', address: 'juergen@mail.example' },
      { name: '', address: 'carl@mail.example' },
    ]);
    expect(mail.replyTo).toEqual([
      { name: '', address: 'help@shop.example' },
      { name: 'Sales', address: 'sales@shop.example' },
    ]);
    expect(mail.references?.split(/\s+/)).toHaveLength(20);
    expect(mail.inReplyTo).toBe('<message-19@mail.example>');
    expect(wire.toString()).toContain('X-Double: two  blanks stay\r\n');
    expect(wire.toString()).not.toMatch(/^Bcc/im);
  });
});
