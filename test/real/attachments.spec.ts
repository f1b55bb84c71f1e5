import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import { DkimSigner, parseSigningKey } from '#deliverability';
import { octetsOf } from '#kernel';
import { type Attachment, encodeAttachments } from '../../libs/messaging/src/content/mail/attachment-part.js';
import { buildMimeMessage, type MimeMessage } from '../../libs/messaging/src/content/mail/mime-message.js';
import { readAttachments } from '../../libs/messaging/src/messages/attachment.js';
import { SmtpTransport } from '#platform';
import { ed25519Key, rsaKey } from '#testing/mail/dkim-keys';
import { verdicts } from '#testing/mail/dkim-verdicts';
import { eventually } from '#testing/time/eventually';
import * as fc from '#testing/random/properties';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { describeWith, type Part } from './parts.js';
import { startExim } from './support/exim.js';
import type { Mta, NextHops } from './support/mta.js';
import { startPostfix } from './support/postfix.js';
import { readWithPython } from './support/python-mail.js';

const MESSAGE: MimeMessage = {
  from: { name: 'Example Shop', address: 'shop@mail.acme.example' },
  to: { name: 'Ann, the first', address: 'ann@example.com' },
  cc: [{ name: 'Jürgen Müller 🎉', address: 'juergen@example.com' }, 'carl@example.com'],
  replyTo: ['help@acme.example', { name: 'Sales "EU"', address: 'sales@acme.example' }],
  subject: 'Your invoice – März',
  messageId: '0198c7f2-0000-7000-8000-000000000001@mail.acme.example',
  date: new Date('2026-03-01T09:05:07Z'),
  html: '<p>Hello <img src="cid:logo@acme"></p>',
  text: 'Hello',
  headers: [
    ['References', '<one@mail.acme.example> <two@mail.acme.example>'],
    ['In-Reply-To', '<two@mail.acme.example>'],
    ['X-Entity-Ref-ID', 'order-17'],
  ],
};

const INVITE =
  'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nSUMMARY:Überblick\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';

const fileOf = (filename: string, content: Buffer, type = 'application/octet-stream'): Attachment => ({
  filename,
  contentType: { type, parameters: {} },
  content,
  contentId: null,
});
const LOGO: Attachment = {
  ...fileOf('Logo für Ann.png', randomBytes(3_000), 'image/png'),
  contentId: 'logo@acme',
};
const CALENDAR: Attachment = {
  ...fileOf('Einladung.ics', Buffer.from(INVITE)),
  contentType: { type: 'text/calendar', parameters: { charset: 'utf-8', method: 'REQUEST' } },
};

/** Names of files that readers have got wrong. */
const NAMES = [
  'invoice.pdf',
  'no ending',
  '.hidden',
  'UPPER.TXT',
  'two  blanks.txt',
  'a. blank.txt',
  'a,b;c=d.txt',
  'quoted "name".txt',
  "apostrophe's.txt",
  '100 %.txt',
  '%41%C3%BC.txt',
  'star*0*.txt',
  "utf-8''fake.txt",
  '=? no word ?=.txt',
  '(comment).txt',
  '<angle>.txt',
  '[square] {curly}.txt',
  'Rechnung für März.pdf',
  'Übergrößenträger – Straße.docx',
  'année-été.odt',
  'Ελληνικά.txt',
  'Привет мир.txt',
  '請求書.pdf',
  '計算書二〇二六年三月分最終版.xlsx',
  '견적서.pdf',
  'תעודה.pdf',
  'فاتورة.pdf',
  '😀.png',
  '👩‍👩‍👧‍👦 family 🏳️‍🌈.png',
  'ü'.repeat(200),
  `${'long '.repeat(40)}.txt`,
  `${'請'.repeat(199)}.x`,
  'x'.repeat(255),
];

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

async function bodyOf(attachments: readonly Attachment[], change: Partial<MimeMessage> = {}) {
  return buildMimeMessage({ ...MESSAGE, ...change, attachments: await encodeAttachments(attachments) });
}

/** Names and hashes of the files of a message, in their order, as each of two parsers reads them. */
async function filesOf(raw: Buffer) {
  const python = await readWithPython(raw);
  expect(python.defects).toEqual([]);
  const { attachments } = await PostalMime.parse(raw, { attachmentEncoding: 'arraybuffer' });
  const files = python.parts.filter(({ disposition }) => disposition !== null);
  const read = attachments.filter(({ disposition }) => disposition !== null);
  return {
    python: files.map(({ names: [name], sha256: hash }) => [name, hash]),
    olderPython: files.map(({ names: [, name], sha256: hash }) => [name, hash]),
    postalMime: read.map(({ filename, content }) => [
      filename,
      sha256(new Uint8Array(content as ArrayBuffer)),
    ]),
  };
}

async function expectTheSame(raw: Buffer, attachments: readonly Attachment[]): Promise<void> {
  const inOrder = [
    ...attachments.filter(({ contentId }) => contentId !== null),
    ...attachments.filter(({ contentId }) => contentId === null),
  ];
  const expected = inOrder.map(({ filename, content }) => [filename, sha256(content)]);
  const { python, olderPython, postalMime } = await filesOf(raw);
  expect(python).toEqual(expected);
  expect(olderPython).toEqual(expected);
  // This one makes each line end of a calendar a plain newline.
  const unix = sha256(Buffer.from(INVITE.replaceAll('\r\n', '\n')));
  expect(postalMime).toEqual(
    inOrder.map((file, at) => (file === CALENDAR ? [CALENDAR.filename, unix] : expected[at])),
  );
}

describeWith(['python'], "a message that Python's email and postal-mime read", () => {
  it('has the layers that it was made of, without a defect', async () => {
    const pdf = fileOf('a.pdf', Buffer.from('%PDF'), 'application/pdf');
    const pathsOf = async (attachments: readonly Attachment[], html: string | null) => {
      const { parts, defects } = await readWithPython(octetsOf(await bodyOf(attachments, { html })));
      expect(defects).toEqual([]);
      return parts
        .filter(({ sha256: hash }) => hash !== null)
        .map(({ path }) => path.replaceAll('multipart/', ''));
    };
    const { html } = MESSAGE;
    expect(await pathsOf([], null)).toEqual(['text/plain']);
    expect(await pathsOf([pdf], null)).toEqual(['mixed > text/plain', 'mixed > application/pdf']);
    expect(await pathsOf([], html as string)).toEqual([
      'alternative > text/plain',
      'alternative > text/html',
    ]);
    expect(await pathsOf([LOGO], html as string)).toEqual([
      'related > alternative > text/plain',
      'related > alternative > text/html',
      'related > image/png',
    ]);
    expect(await pathsOf([pdf, LOGO, CALENDAR], html as string)).toEqual([
      'mixed > related > alternative > text/plain',
      'mixed > related > alternative > text/html',
      'mixed > related > alternative > text/calendar',
      'mixed > related > image/png',
      'mixed > application/pdf',
      'mixed > text/calendar',
    ]);
  });

  it('names its recipients, those who take answers, and what it answers', async () => {
    const { headers, mailboxes } = await readWithPython(octetsOf(await bodyOf([])));
    expect(mailboxes).toEqual({
      To: [['Ann, the first', 'ann@example.com']],
      Cc: [
        ['Jürgen Müller 🎉', 'juergen@example.com'],
        ['', 'carl@example.com'],
      ],
      'Reply-To': [
        ['', 'help@acme.example'],
        ['Sales "EU"', 'sales@acme.example'],
      ],
    });
    expect(headers).toMatchObject({
      Subject: 'Your invoice – März',
      References: '<one@mail.acme.example> <two@mail.acme.example>',
      'In-Reply-To': '<two@mail.acme.example>',
      'X-Entity-Ref-ID': 'order-17',
    });
  });

  it.each(NAMES)('has the file %j', async (name) => {
    const files = [
      fileOf(name, randomBytes(100)),
      { ...fileOf(name, randomBytes(100)), contentId: 'logo@acme' },
    ];
    await expectTheSame(octetsOf(await bodyOf(files)), files);
  });

  it('keeps method and charset of an invitation, as a file and among the alternatives', async () => {
    const { parts } = await readWithPython(octetsOf(await bodyOf([CALENDAR])));
    const calendars = parts.filter(({ path }) => path.endsWith('text/calendar'));
    expect(calendars).toMatchObject([
      { method: 'REQUEST', charset: 'utf-8', disposition: null, sha256: sha256(CALENDAR.content) },
      {
        method: 'REQUEST',
        charset: 'utf-8',
        disposition: 'attachment',
        names: ['Einladung.ics', 'Einladung.ics'],
        sha256: sha256(CALENDAR.content),
      },
    ]);
  });

  it('has twenty files, byte for byte', async () => {
    const files = NAMES.slice(0, 18).map((name, at) => fileOf(name, randomBytes(at * 7_919)));
    const all = [...files, LOGO, CALENDAR];
    await expectTheSame(octetsOf(await bodyOf(all)), all);
  });

  it('has any file that the API takes', async () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, fc.uint8Array({ minLength: 1 })), { minLength: 1, maxLength: 20 }),
        async (given) => {
          const read = await readAttachments(
            given.map(([filename, bytes]) => ({
              filename,
              contentType: 'application/octet-stream',
              content: Buffer.from(bytes).toString('base64'),
            })),
            () => Promise.resolve(null),
          );
          if ('errors' in read) return;
          await expectTheSame(octetsOf(await bodyOf(read.attachments)), read.attachments);
        },
      ),
      { numRuns: fc.runs(30) },
    );
  });
});

interface Program {
  readonly part: Part;
  readonly start: (hops: NextHops) => Promise<Mta>;
}

const PROGRAMS: readonly Program[] = [
  {
    part: 'postfix',
    start: async (hops) => {
      const postfix = await startPostfix(hops, { plain: {} }, { message_size_limit: '30000000' });
      return { url: postfix.urls['plain']!, stop: () => postfix.stop() };
    },
  },
  { part: 'exim', start: (hops) => startExim(hops, 'unknown@example.com') },
];

describe.each(PROGRAMS)('files of 10 MB through $part', ({ part, start }) => {
  describeWith(['python', part], 'arrive', () => {
    const keys = [rsaKey('mw1'), ed25519Key('mw2')];
    const domain = 'mail.acme.example';
    let sink: SmtpSink;
    let mta: Mta;
    let transport: SmtpTransport;

    beforeAll(async () => {
      sink = await startSmtpSink({ size: 30_000_000 });
      mta = await start({ everywhere: sink.port, byDomain: { 'elsewhere.example': sink.port } });
      transport = new SmtpTransport({
        url: mta.url,
        connections: 1,
        messagesPerConnection: 10,
        ehloName: 'worker.test',
      });
    });
    afterAll(async () => {
      await transport?.close();
      await mta?.stop();
      await sink?.stop();
    });

    it('signed with both keys and byte for byte', async () => {
      const files = NAMES.slice(-18).map((name) => fileOf(name, randomBytes(580_000)));
      const all = [...files, LOGO, CALENDAR];
      const body = await bodyOf(all);
      const fields = await new DkimSigner().sign(
        body.pieces,
        { domain, keys: keys.map(parseSigningKey) },
        new Date(),
      );
      const raw = { ...body, pieces: [fields, ...body.pieces], size: body.size + fields.length };
      const outcome = await transport.send({
        envelopeFrom: `bounce@${domain}`,
        envelopeTo: 'ann@example.com',
        raw,
      });

      expect(outcome).toMatchObject({ kind: 'accepted' });
      await eventually('it arrives', () => sink.count() === 1);
      const received = sink.messages[0]!.raw;
      expect(await verdicts(received, domain, keys)).toEqual(['rsa-sha256 pass', 'ed25519-sha256 pass']);
      await expectTheSame(received, all);
    });
  });
});
