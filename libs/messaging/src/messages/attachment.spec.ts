import { describe, expect, it } from '@jest/globals';
import { turnsDuring } from '#testing/time/loop-turns';
import * as fc from '#testing/random/properties';
import { contentIdsIn } from '../content/document/content-ids.js';
import { contentIdErrors, type GivenAttachment, MOST_ATTACHED, readAttachments } from './attachment.js';

const file = (change: Partial<GivenAttachment> = {}): GivenAttachment => ({
  filename: 'report.pdf',
  contentType: 'application/pdf',
  content: Buffer.from('%PDF-1.7').toString('base64'),
  ...change,
});
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');

const IMAGE = { contentType: 'image/png', content: Buffer.from('89504e470d0a1a0a', 'hex') };
const readMedia = (id: string) => Promise.resolve(id === 'kept' ? IMAGE : null);

async function errorsOf(...given: GivenAttachment[]): Promise<Readonly<Record<string, string>>> {
  const read = await readAttachments(given, readMedia);
  return 'errors' in read ? read.errors : {};
}
async function readOne(change: Partial<GivenAttachment>) {
  const read = await readAttachments([file(change)], readMedia);
  if ('errors' in read) throw new Error(JSON.stringify(read.errors));
  return read.attachments[0]!;
}

describe('the bytes of an attachment', () => {
  it('are those that were encoded, in lines or in one, whatever they are', async () => {
    const wrapped = fc.constantFrom('', '\n', '\r\n', ' ');
    // Names of programs are refused.
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 600 }).map((one) => Buffer.from([0x25, ...one]));
    await fc.assert(
      fc.asyncProperty(bytes, wrapped, async (content, lineEnd) => {
        const text = content.toString('base64').replaceAll(/.{76}/g, `$&${lineEnd}`);
        expect((await readOne({ content: text })).content.equals(content)).toBe(true);
      }),
    );
  });

  it.each([1, 49_151, 49_152, 49_153, 100_000])(
    'are read over the ends of chunks, %i of them',
    async (length) => {
      const content = Buffer.alloc(length, '0123456789');
      const text = content.toString('base64').replaceAll(/.{76}/g, '$&\r\n');
      expect((await readOne({ content: text })).content.equals(content)).toBe(true);
    },
  );

  it.each([
    ['', 'must not be empty'],
    ['\n\n', 'must not be empty'],
    ['JVBERi0xLj', 'with its padding'],
    ['JVBERi0xLjc', 'with its padding'],
    ['JVBERi0xLjc==', 'with its padding'],
    ['JVBE=Ri0', 'must be base64'],
    ['JVBERi0xL=c=', 'must be base64'],
    ['JVBERi0xL===', 'must be base64'],
    ['JVBERi0xLjd=', 'must be base64'],
    ['JVBERi0xLjé=', 'must be base64'],
    ['JVBERi0_Lg==', 'the alphabet of URLs'],
    ['data:application/pdf;base64,JVBERi0=', 'without data:'],
    [`${'A'.repeat(65_536)}*${'A'.repeat(65_535)}`, 'must be base64'],
  ])('are refused as %#: %.20s', async (content, fault) => {
    expect(await errorsOf(file(), file({ content }))).toEqual({
      'attachments[1].content': expect.stringContaining(fault),
    });
  });

  it('are 10 MB together at most, and no more is decoded', async () => {
    const half = base64('%'.repeat(MOST_ATTACHED / 2));
    expect(await errorsOf(file({ content: half }), file({ content: half }))).toEqual({});
    const errors = await errorsOf(
      file({ content: half }),
      file({ content: half }),
      file({ content: base64('%') }),
    );
    expect(errors).toEqual({ attachments: expect.stringContaining('10485760 bytes (10 MB)') });
  });

  it('are decoded in chunks, the event loop going on between them', async () => {
    const turns = await turnsDuring(readOne({ content: base64('%'.repeat(MOST_ATTACHED)) }));
    expect(turns).toBeGreaterThan(200);
  });

  it('are required, or an image that is kept', async () => {
    const image = { content: undefined, contentType: 'image/png' };
    expect(
      await errorsOf(
        file({ content: undefined }),
        file({ ...image, mediaId: 'gone' }),
        file({ mediaId: 'kept' }),
        file({ ...image, contentType: 'image/gif', mediaId: 'kept' }),
      ),
    ).toEqual({
      'attachments[0].content': 'is required, or mediaId',
      'attachments[1].mediaId': 'is no image of the project',
      'attachments[2].mediaId': 'must not be given together with content',
      'attachments[3].contentType': 'must be image/png, as the image is',
    });
    expect(await readOne({ ...image, filename: 'logo.png', mediaId: 'kept' })).toMatchObject({
      content: IMAGE.content,
      contentId: null,
    });
  });
});

describe('attachments', () => {
  it('are 20 at most', async () => {
    const twenty = Array.from({ length: 20 }, () => file());
    expect(await errorsOf(...twenty)).toEqual({});
    expect(await errorsOf(...twenty, file())).toEqual({ attachments: 'must be 20 files at most' });
  });

  it('are refused with every fault of theirs', async () => {
    const errors = await errorsOf(
      file({ filename: '../a.pdf', contentType: 'pdf', contentId: '<a>', content: '!' }),
      file({ contentId: 'same' }),
      file({ contentId: 'same' }),
    );
    expect(Object.keys(errors)).toEqual([
      'attachments[0].filename',
      'attachments[0].contentType',
      'attachments[0].contentId',
      'attachments[0].content',
      'attachments[2].contentId',
    ]);
  });
});

describe('the name of an attachment', () => {
  it.each([
    'Rechnung für März.pdf',
    '請求書.pdf',
    'a "quoted" name; with = and , and %41.txt',
    "it's.txt",
    '😀👩‍👩‍👧‍👦.png',
    'תעודה.pdf',
    'x'.repeat(255),
    '😀'.repeat(255),
    '.htaccess',
    'a..b.pdf',
    'no ending',
    'acme.com.pdf',
    'node.js.pdf',
    'console.txt',
    'com10.txt',
  ])('may be %s', async (filename) => {
    expect((await readOne({ filename })).filename).toBe(filename);
  });

  it.each([
    ['', '1 to 255 characters'],
    ['x'.repeat(256), '1 to 255 characters'],
    ['../etc/passwd', 'without a path'],
    ['a/b.pdf', 'without a path'],
    ['a\\b.pdf', 'without a path'],
    ['C:\\a.pdf', 'without a path'],
    ['..', 'without a path'],
    ['a\u0000.pdf', 'control characters'],
    ['a\r\nBcc: eve@evil.example', 'control characters'],
    ['a\u2028b.pdf', 'control characters'],
    ['a\u0085b.pdf', 'control characters'],
    ['invoice\u202efdp.exe', 'direction of writing'],
    ['a\ud800.pdf', 'surrogate'],
    ['a.pdf.', 'a blank or a dot'],
    ['a.pdf ', 'blank or a dot'],
    [' a.pdf', 'begin with a blank'],
    ['=?UTF-8?Q?fake?=.pdf', 'encoded word'],
    ['CON', 'device on Windows'],
    ['nul.txt', 'device on Windows'],
    ['Lpt1 .pdf', 'device on Windows'],
    ['COM¹.txt', 'device on Windows'],
    ['setup.exe', 'a program (.exe)'],
    ['SETUP.ExE', 'a program (.exe)'],
    ['invoice.pdf.exe', 'a program (.exe)'],
    ['invoice.exe.pdf', 'a program (.exe)'],
    ['invoice.pdf .scr', 'a program (.scr)'],
    ['invoice.exe:notes.txt', 'a program (.exe)'],
    ['setup.exe.gz', 'a program (.exe)'],
    ['app.js', 'a program (.js)'],
    ['run.sh', 'a program (.sh)'],
    ['disk.iso', 'a program (.iso)'],
  ])('may not be %j', async (filename, fault) => {
    expect(await errorsOf(file({ filename }))).toEqual({
      'attachments[0].filename': expect.stringContaining(fault),
    });
  });
});

describe('the type of an attachment', () => {
  it.each([
    ['application/pdf', { type: 'application/pdf', parameters: {} }],
    [
      'Text/CSV; Charset="utf-8"; header=present',
      { type: 'text/csv', parameters: { charset: 'utf-8', header: 'present' } },
    ],
    [
      'application/vnd.oasis.opendocument.text',
      { type: 'application/vnd.oasis.opendocument.text', parameters: {} },
    ],
    ['image/svg+xml', { type: 'image/svg+xml', parameters: {} }],
  ])('may be %s', async (contentType, type) => {
    expect((await readOne({ contentType })).contentType).toEqual(type);
  });

  it.each([
    ['', 'must be a media type'],
    ['pdf', 'must be a media type'],
    ['application/pdf\r\nX: y', 'must be a media type'],
    ['text/plain; charset=é', 'must be a media type'],
    ['text/plain; charset', 'name=value'],
    ['text/plain; charset="a"b"', 'name=value'],
    ['text/plain; charset=a; CHARSET=b', 'charset twice'],
    ['application/pdf; name="a.pdf"', 'parameter name'],
    ['multipart/mixed; boundary=x', 'must not be multipart/mixed'],
    ['message/rfc822', 'named .eml'],
  ])('may not be %j', async (contentType, fault) => {
    expect(await errorsOf(file({ contentType }))).toEqual({
      'attachments[0].contentType': expect.stringContaining(fault),
    });
  });
});

describe('a calendar', () => {
  const calendar = (method: string | null) =>
    `BEGIN:VCALENDAR\r\nPRODID:-//A\r\n METHOD:NOT\r\n${method === null ? '' : `METHOD:${method}\r\n`}BEGIN:VEVENT\r\nMETHOD:REPLY\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n`;
  const sent = (contentType: string, text: string) =>
    file({ filename: 'a.ics', contentType, content: base64(text) });

  it.each([
    ['text/calendar', 'REQUEST', { charset: 'utf-8', method: 'REQUEST' }],
    ['text/calendar; method=request', 'REQUEST', { charset: 'utf-8', method: 'REQUEST' }],
    ['text/calendar; charset=iso-8859-1; method=CANCEL', null, { charset: 'iso-8859-1', method: 'CANCEL' }],
    ['text/calendar', null, { charset: 'utf-8' }],
    ['application/ics', 'REQUEST', {}],
  ])('of %s with METHOD %s has the parameters %j', async (contentType, method, parameters) => {
    const given = sent(contentType, calendar(method));
    expect((await readOne(given)).contentType.parameters).toEqual(parameters);
  });

  it.each([
    ['text/calendar', 'hello', 'content', 'BEGIN:VCALENDAR'],
    ['text/calendar; method=CANCEL', calendar('REQUEST'), 'contentType', 'METHOD:REQUEST'],
    ['text/calendar; method=INVITE', calendar(null), 'contentType', 'REQUEST'],
    ['text/calendar', calendar('INVITE'), 'content', 'REQUEST'],
  ])('of %s is refused where it says something else', async (contentType, text, field, fault) => {
    expect(await errorsOf(sent(contentType, text))).toEqual({
      [`attachments[0].${field}`]: expect.stringContaining(fault),
    });
  });
});

describe('what the HTML shows', () => {
  it.each([
    '<img src="cid:logo">',
    "<img src='CID:logo'>",
    '<img src=" cid:l%6Fgo ">',
    '<img src="&#99;id:logo">',
    '<img srcset="https://a.example/x.png 1x, cid:logo 2x">',
    '<table background="cid:logo"></table>',
    '<td style="background:url(\'cid:logo\')"></td>',
    '<style>td{background:url(cid:logo)}</style>',
    '<!--[if mso]><v:fill src="cid:logo"/><![endif]-->',
  ])('is an attachment, named by %s', (html) => {
    const shown = contentIdsIn(html);
    expect(contentIdErrors([{ contentId: 'logo' }, {}], shown, 'html')).toEqual({});
    expect(contentIdErrors([{}], shown, 'html')).toEqual({ html: expect.stringContaining('cid:logo') });
  });

  it.each(['<p>cid:logo</p>', '<img alt="see cid:logo">', '<!-- cid:logo -->', ''])(
    'has to name each Content-ID, which %j does not',
    (html) => {
      expect(contentIdErrors([{}, { contentId: 'logo' }], contentIdsIn(html), 'html')).toEqual({
        'attachments[1].contentId': expect.stringContaining('cid:logo'),
      });
    },
  );
});
