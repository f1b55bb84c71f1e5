import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import PostalMime from 'postal-mime';
import sharp from 'sharp';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const HOUR = 3_600_000;
const MB = 1_024 * 1_024;
const ahead = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();

const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(600_000)]);
const PNG = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  randomBytes(2_000),
]);
const CALENDAR = Buffer.from(
  'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:1\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
);
const fileOf = (filename: string, contentType: string, content: Buffer, more: object = {}) => ({
  filename,
  contentType,
  content: content.toString('base64'),
  ...more,
});
const RECEIPT = fileOf('receipt.pdf', 'application/pdf', PDF);
const showing = (html: string) => JSON.stringify({ blocks: [{ type: 'html', html }] });

describe('attachments of messages', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let count = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
  });
  afterAll(async () => {
    await system?.stop();
  });

  const somebody = () => `files${(count += 1)}@example.com`;
  const send = (message: object) =>
    client.post('/messages', {
      to: somebody(),
      purpose: 'An order',
      subject: 'Receipt',
      text: 'Thank you.',
      ...message,
    });
  const sentTo = (email: string) =>
    eventually(`a mail to ${email}`, async () => {
      const list = await client.get(`/test-inbox/messages?kind=MESSAGE&to=${encodeURIComponent(email)}`);
      const id = list.at<string | undefined>('data', 0, 'id');
      return id === undefined
        ? null
        : PostalMime.parse((await client.get(`/test-inbox/messages/${id}/raw`)).text);
    });
  const withStatus = (id: string, status: string) =>
    eventually(`message ${id} is ${status}`, async () =>
      (await client.get(`/messages/${id}`)).at('status') === status ? true : null,
    );
  const kept = async (id: string) => {
    const [row] = await system.database.query<{ rows: number; hasKey: boolean }>(
      `select (select count(*)::int from messaging.message_attachments a where a.environment_id = m.environment_id and a.message_id = m.id) as rows,
         m.attachments_key is not null as "hasKey"
       from messaging.messages m where m.id = $1`,
      [id],
    );
    return row;
  };
  const NOTHING_KEPT = { rows: 0, hasKey: false };

  it('arrive with the octets and the names that they were given', async () => {
    const name = '請求書 №4711.pdf';
    const sent = await send({
      contentJson: showing('<p>Hello <img src="cid:logo" alt="Logo"></p>'),
      attachments: [
        { ...RECEIPT, filename: name },
        fileOf('logo.png', 'image/png', PNG, { contentId: 'logo' }),
        fileOf('date.ics', 'text/calendar', CALENDAR),
      ],
    });
    expect(sent.status).toBe(202);
    const mail = await sentTo(sent.at('to'));
    expect(mail.html).toContain('src="cid:logo"');
    const octetsOf = (filename: string) => {
      const { content } = mail.attachments.find((file) => file.filename === filename)!;
      return Buffer.from(content as ArrayBuffer);
    };
    expect(octetsOf(name).equals(PDF)).toBe(true);
    expect(octetsOf('logo.png').equals(PNG)).toBe(true);
    // This parser makes each line end of a calendar a plain newline.
    expect(octetsOf('date.ics').toString()).toBe(CALENDAR.toString().replaceAll('\r\n', '\n'));
    expect(
      mail.attachments.map(({ filename, mimeType, contentId, method }) => [
        filename,
        mimeType,
        contentId,
        method,
      ]),
    ).toEqual([
      // The invitation is one more form of the text, and a file.
      [null, 'text/calendar', undefined, 'REQUEST'],
      ['logo.png', 'image/png', '<logo>', undefined],
      [name, 'application/pdf', undefined, undefined],
      ['date.ics', 'text/calendar', undefined, 'REQUEST'],
    ]);
    expect((await client.get(`/messages/${sent.at('id')}/content`)).at('attachments')).toEqual([
      { filename: name, contentType: 'application/pdf', size: PDF.length, contentId: null },
      { filename: 'logo.png', contentType: 'image/png', size: PNG.length, contentId: 'logo' },
      {
        filename: 'date.ics',
        contentType: 'text/calendar; method=REQUEST; charset=utf-8',
        size: CALENDAR.length,
        contentId: null,
      },
    ]);
  });

  it('are stored once for all recipients, encrypted, until the mails of all of them have ended', async () => {
    const sent = await send({
      cc: [somebody()],
      bcc: [somebody()],
      attachments: [RECEIPT],
      scheduledAt: ahead(HOUR),
    });
    const id = sent.at('id');
    // 600 000 octets are two rows.
    expect(await kept(id)).toEqual({ rows: 2, hasKey: true });
    const [row] = await system.database.query<{ sealed: Buffer }>(
      'select sealed from messaging.message_attachments where message_id = $1 and part = 0',
      [id],
    );
    expect(row!.sealed.includes(PDF.subarray(0, 100))).toBe(false);
    await client.patch(`/messages/${id}`, { scheduledAt: ahead(-1_000) });
    await withStatus(id, 'SENT');
    await eventually('the files are gone', async () => ((await kept(id))?.rows === 0 ? true : null));
    expect(await kept(id)).toEqual(NOTHING_KEPT);
    const [message] = await system.database.query<{ files: unknown }>(
      `select content -> 'attachments' as files from messaging.messages where id = $1`,
      [id],
    );
    expect(message?.files).toEqual([
      {
        filename: 'receipt.pdf',
        contentType: { type: 'application/pdf', parameters: {} },
        contentId: null,
        size: PDF.length,
      },
    ]);
  });

  it('are gone with a message that is cancelled, or whose person is erased', async () => {
    const cancelled = await send({ attachments: [RECEIPT], scheduledAt: ahead(HOUR) });
    await client.post(`/messages/${cancelled.at('id')}/cancel`);
    expect(await kept(cancelled.at('id'))).toEqual(NOTHING_KEPT);
    const email = somebody();
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const topicKeys = [topic.at('topicKey')];
    await client.post('/subscribers', { email, topicKeys, consent: { source: 'form' } });
    const erased = await send({
      to: email,
      attachments: [RECEIPT],
      scheduledAt: ahead(HOUR),
      keep: 'NOTHING',
    });
    expect(await kept(erased.at('id'))).toEqual({ rows: 2, hasKey: true });
    expect((await client.delete(`/subscribers/${encodeURIComponent(email)}`)).status).toBe(204);
    await eventually('the files are gone', async () =>
      (await kept(erased.at('id')))?.rows === 0 ? true : null,
    );
  });

  const keyFor = async (scope: string) => (await project.client('TEST', { scopes: [scope] })).key!;

  /** The answer to a request of which the headers are sent, and these octets of its body. */
  async function answerTo(headers: Readonly<Record<string, string>>, octets = ''): Promise<string> {
    const { hostname, port } = new URL(system.baseUrl);
    const socket = connect(Number(port), hostname);
    try {
      const lines = Object.entries({ host: 'mail.example', 'content-type': 'application/json', ...headers });
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
      socket.write(`POST /api/v1/messages HTTP/1.1\r\n${head}\r\n${octets}`);
      let answer = '';
      for await (const chunk of socket) {
        answer += String(chunk);
        if (/\r\n\r\n.*\}/s.test(answer)) break;
      }
      return answer;
    } finally {
      socket.destroy();
    }
  }

  it('are not read where their request is refused by its headers', async () => {
    const key = await keyFor('messages:send');
    const other = await keyFor('messages:read');
    const length = (bytes: number) => ({ 'content-length': String(bytes) });
    expect(await answerTo({ ...length(14 * MB), 'x-api-key': 'mw_wrong' })).toMatch(/^HTTP\/1\.1 401 /);
    expect(await answerTo({ ...length(14 * MB), 'x-api-key': other })).toMatch(/^HTTP\/1\.1 403 /);
    const usedUp = await project.client('TEST', { scopes: ['messages:send'] });
    for (let times = 0; times < 6; times += 1)
      await usedUp.post('/messages/batch', { messages: Array.from({ length: 100 }, () => ({})) });
    expect(await answerTo({ ...length(14 * MB), 'x-api-key': usedUp.key! })).toMatch(/^HTTP\/1\.1 429 /);
    expect(await answerTo({ ...length(16 * MB), 'x-api-key': key })).toMatch(/^HTTP\/1\.1 413 /);
    const early = '{"to":"a@example.com","attachments":[{"content":"JVBE';
    const chunked = { 'transfer-encoding': 'chunked', 'x-api-key': key };
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
    expect(await answerTo(chunked, `${chunk(early)}0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 .*malformed-json/s);
    const endless = chunk(early) + Array.from({ length: 16 }, () => chunk('A'.repeat(MB))).join('');
    expect(await answerTo(chunked, endless)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('are one request in each spelling of their JSON, and repeated with its key not sent again', async () => {
    const key = await keyFor('messages:send');
    const content = Buffer.from([0x25, ...Array.from({ length: 300 }, () => 0xff)]).toString('base64');
    const body = JSON.stringify({
      to: somebody(),
      purpose: 'x',
      subject: 'x',
      text: 'x',
      attachments: [{ ...RECEIPT, content }],
    });
    const post = (text: string) =>
      fetch(`${system.baseUrl}/api/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': 'files' },
        body: text,
      });
    const first = await post(body);
    expect(first.status).toBe(202);
    const again = await post(body.replaceAll('/', '\\/'));
    expect([again.status, await again.json()]).toEqual([202, await first.json()]);
    expect((await post(body.replace('////', '//8/'))).status).toBe(422);
  });

  it('are refused as a whole, with each fault named', async () => {
    const faults = async (attachments: readonly object[], message: object = {}) => {
      const { status, body } = await send({ attachments, ...message });
      return [status, (body as { errors?: unknown }).errors];
    };
    const file = (change: object) => ({ ...RECEIPT, ...change });
    const withFault = (path: string, text: string) => [422, { [path]: expect.stringContaining(text) }];
    const half = fileOf('half.bin', 'application/octet-stream', Buffer.alloc(5 * MB + 1, 'x'));
    expect(await faults([half, half])).toEqual(withFault('attachments', '10 MB'));
    expect(await faults(Array.from({ length: 21 }, () => file({ content: 'JVBERi0xLjcK' })))).toEqual([
      400,
      expect.anything(),
    ]);
    expect(await faults([file({ content: Buffer.from('MZ\x90\0').toString('base64') })])).toEqual(
      withFault('attachments[0].content', 'program'),
    );
    expect(await faults([RECEIPT, file({ filename: '../x.pdf' })])).toEqual(
      withFault('attachments[1].filename', 'without a path'),
    );
    for (const [field, value] of [
      ['filename', 'a\r\nBcc: eve@example.com.pdf'],
      ['contentType', 'text/plain\r\nBcc: eve@example.com'],
      ['contentId', 'a\r\nb'],
    ] as const)
      expect((await faults([file({ [field]: value })]))[1]).toHaveProperty([`attachments[0].${field}`]);
    expect(await faults([file({ content: 'JVBE*' })])).toEqual(withFault('attachments[0].content', 'base64'));
    expect(await faults([file({ content: null })])).toEqual(
      withFault('attachments[0].content', 'is required'),
    );
    const mediaId = '01890000-0000-7000-8000-000000000001';
    expect(await faults([file({ content: null, mediaId })])).toEqual(
      withFault('attachments[0].mediaId', 'is no image of the project'),
    );
    expect(await faults([file({ contentId: 'logo' })])).toEqual(
      withFault('attachments[0].contentId', 'has no cid:logo'),
    );
    const contentJson = showing('<p>Hello <img src="cid:logo"></p>');
    expect(await faults([RECEIPT], { contentJson })).toEqual(withFault('contentJson', 'cid:logo'));
    const [{ rows }] = (await system.database.query<{ rows: number }>(
      `select count(*)::int as rows from messaging.message_attachments a
       where not exists (select 1 from messaging.messages m where m.environment_id = a.environment_id and m.id = a.message_id)`,
    )) as [{ rows: number }];
    expect(rows).toBe(0);
  });

  it('may be images that the project keeps, and no others', async () => {
    const image = { create: { width: 8, height: 4, channels: 3, background: '#0b57d0' } } as const;
    const png = await sharp(image).png().toBuffer();
    const uploaded = await client.post('/media', png, { headers: { 'content-type': 'image/png' } });
    expect(uploaded.status).toBe(201);
    const logo = {
      filename: 'logo.png',
      contentType: 'image/png',
      mediaId: uploaded.at('id'),
      contentId: 'logo',
    };
    const to = somebody();
    const message = { to, contentJson: showing('<img src="cid:logo" alt="Logo">'), attachments: [logo] };
    expect((await send(message)).status).toBe(202);
    const mail = await sentTo(to);
    const shown = await fetch(uploaded.at('url'));
    expect(Buffer.from(mail.attachments[0]!.content as ArrayBuffer)).toEqual(
      Buffer.from(await shown.arrayBuffer()),
    );
    const other = await (await system.project()).client('TEST');
    const refused = await other.post('/messages', { purpose: 'An order', subject: 'Receipt', ...message });
    expect([refused.status, refused.at('errors')]).toEqual([
      422,
      { 'attachments[0].mediaId': 'is no image of the project' },
    ]);
  });
});
