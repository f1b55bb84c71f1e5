import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { EnvironmentsQuery } from '#access';
import { ReportsService, ReturnPaths, UnsubscribeAddresses } from '#deliverability';
import { newId, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database, loadConfig } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { localhostCertificate } from '#testing/servers/localhost-certificate';
import { SmtpClient } from '#testing/mail/smtp-client';
import { BounceProcessor } from './bounce-processor.js';
import { BounceServer } from './bounce-server.js';
import { CLIENT_LIMITS, ClientLimits } from './smtp-clients.js';

const HOST = 'bounces.shop.example';
const DSN = [
  'From: MAILER-DAEMON@mx.example',
  'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
  '',
  '--b',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.example',
  '',
  'Final-Recipient: rfc822; ada@example.com',
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 ada@example.com (mailbox of ada) is unknown',
  '',
  '--b--',
].join('\r\n');

/** A complaint (RFC 5965) about a mail with this field. */
const complaintAbout = (header: string) =>
  [
    'From: feedback@mailbox.example',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
    '',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    'User-Agent: Loop/1',
    'Version: 1',
    '',
    '--b',
    'Content-Type: message/rfc822',
    '',
    header,
    'Subject: News',
    '',
    'Hello',
    '--b--',
  ].join('\r\n');

describe('the bounce server', () => {
  let test: TestDatabase;
  let database: Database;
  let scope: ProjectScope;
  const clock = new ManualClock(new Date());
  const paths = new ReturnPaths('a secret of the tests, long enough for it');
  const unsubscribes = new UnsubscribeAddresses('a secret of the tests, long enough for it');
  const running: BounceServer[] = [];
  const clients: SmtpClient[] = [];

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 4,
      applicationName: 'spec',
      entities: [],
    });
    scope = (await createProject(test)).live;
  });
  afterEach(async () => {
    for (const opened of clients.splice(0)) opened.close();
    await Promise.all(running.splice(0).map((server) => server.stop()));
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  async function start(variables: Record<string, string> = {}, on = database): Promise<BounceServer> {
    const config = loadConfig({
      NODE_ENV: 'test',
      DATABASE_URL: test.url,
      BOUNCE_PORT: '0',
      SHUTDOWN_TIMEOUT_MS: '500',
      ...variables,
    });
    const reports = new ReportsService(on, new EnvironmentsQuery(on), clock);
    const logger = pino({ level: 'silent' });
    const returned = new BounceProcessor(paths, unsubscribes, reports, config, logger);
    const server = new BounceServer(returned, clock, config, logger);
    await server.start();
    running.push(server);
    return server;
  }

  async function client(server: BounceServer): Promise<SmtpClient> {
    const opened = await SmtpClient.open(server.port ?? 0);
    clients.push(opened);
    return opened;
  }

  const ours = (deliveryId = newId()) =>
    paths.addressOf({ environmentId: scope.environmentId, deliveryId }, HOST);
  const reportsOf = (deliveryId: string) =>
    test.query('select * from deliverability.reports where delivery_id = $1', [deliveryId]);

  it('writes down what a report tells, with its event, before it says 250; once', async () => {
    const smtp = await client(await start());
    const deliveryId = newId();
    for (const from of ['', 'mailer-daemon@mx.example']) {
      expect(await smtp.send(from, [ours(deliveryId)], DSN)).toMatch(/^250 2\.0\.0 /);
    }
    expect(await reportsOf(deliveryId)).toMatchObject([
      {
        kind: 'BOUNCE',
        bounce_class: 'hard',
        basic_code: 550,
        enhanced_code: '5.1.1',
        excerpt: '[address] (mailbox of [name]) is unknown',
        names_message: null,
      },
    ]);
    const events = await test.query(
      "select payload from platform.jobs where name = 'bounces.record' and payload->'bounces'->0->>'deliveryId' = $1",
      [deliveryId],
    );
    expect(events).toEqual([{ payload: { bounces: [{ deliveryId, bounceClass: 'hard' }] } }]);
  });

  it('relays nothing: it takes mail for our return paths alone', async () => {
    const smtp = await client(await start());
    const before = await test.query('select 1 from deliverability.reports');
    const [good, bad] = [ours(), ours().replace(/^b\+./, (first) => (first === 'b+a' ? 'b+c' : 'b+a'))];
    for (const to of [
      'ada@example.com',
      `ada%example.com@${HOST}`,
      `@${HOST}:ada@example.com`,
      bad,
      `x${good}`,
    ]) {
      await smtp.say('RSET');
      await smtp.say('MAIL FROM:<news@shop.example>');
      expect(await smtp.say(`RCPT TO:<${to}>`)).toMatch(/^5\d\d /);
      expect(await smtp.say('DATA')).toMatch(/^503 /);
    }
    expect(await smtp.say('AUTH PLAIN AGEAYg==')).toMatch(/^5\d\d /);
    expect(await test.query('select 1 from deliverability.reports')).toHaveLength(before.length);
  });

  const unsubscribing = (deliveryId: string) =>
    test.query(
      "select payload from platform.jobs where name = 'bounces.unsubscribe' and payload->>'deliveryId' = $1",
      [deliveryId],
    );

  it('takes a person’s mail to an unsubscribe address, whatever it says, and no machine’s', async () => {
    const smtp = await client(await start());
    const deliveryId = newId();
    const to = unsubscribes.addressOf({ environmentId: scope.environmentId, deliveryId }, HOST);
    expect(await smtp.send('', [to], DSN)).toMatch(/^250 /);
    expect(await unsubscribing(deliveryId)).toEqual([]);
    expect(await smtp.send('ada@example.com', [to], 'Subject: unsubscribe\r\n\r\n')).toMatch(/^250 /);
    expect(await unsubscribing(deliveryId)).toEqual([{ payload: { deliveryId } }]);
    expect(await reportsOf(deliveryId)).toEqual([]);
    const forged = to.replace(/\.[a-z2-7]/, (mac) => (mac === '.a' ? '.b' : '.a'));
    expect(await smtp.send('ada@example.com', [forged], 'Subject: unsubscribe\r\n\r\n')).toMatch(/^550 /);
  });

  it('takes complaints at the address for feedback loops, about the mail that they return', async () => {
    const to = 'FBL@bounces.mailwright.test';
    const smtp = await client(await start({ BOUNCE_HOST: 'bounces.mailwright.test' }));
    const ids = [newId(), newId(), newId()];
    const claims = ids.map((deliveryId) => ({ environmentId: scope.environmentId, deliveryId }));
    const returned = [
      `List-Unsubscribe: <https://mail.example/u/token>,\r\n <mailto:${unsubscribes.addressOf(claims[0]!, HOST)}>`,
      `Return-Path: <${paths.addressOf(claims[1]!, HOST)}>`,
      `Return-Path: <${paths.addressOf(claims[2]!, HOST).replace(/^b\+./, (first) => (first === 'b+a' ? 'b+c' : 'b+a'))}>`,
    ];
    for (const header of returned) expect(await smtp.send('', [to], complaintAbout(header))).toMatch(/^250 /);
    expect(await smtp.send('', [to], DSN)).toMatch(/^250 /);
    const kinds = await Promise.all(ids.map(reportsOf));
    expect(kinds.map((rows) => rows.map((row) => (row as { kind: string }).kind))).toEqual([
      ['COMPLAINT'],
      ['COMPLAINT'],
      [],
    ]);
  });

  it('refuses a mail of more than 1 MB, and goes on', async () => {
    const smtp = await client(await start());
    const deliveryId = newId();
    const large = `${DSN}\r\n${`${'x'.repeat(76)}\r\n`.repeat(14_000)}`;
    expect(await smtp.send('', [ours(deliveryId)], large)).toMatch(/^552 5\.3\.4 /);
    expect(await reportsOf(deliveryId)).toEqual([]);
    expect(await smtp.send('', [ours(deliveryId)], DSN)).toMatch(/^250 /);
  });

  it('answers a sender that does not wait for the answer to its QUIT', async () => {
    const smtp = await client(await start());
    const deliveryId = newId();
    await smtp.say('MAIL FROM:<>');
    await smtp.say(`RCPT TO:<${ours(deliveryId)}>`);
    await smtp.say('DATA');
    expect(await smtp.leaveWith(DSN)).toMatch(/^250 /);
    expect(await smtp.reply()).toMatch(/^221 /);
    expect(await reportsOf(deliveryId)).toHaveLength(1);
  });

  it('takes nothing of a mail whose sender breaks off', async () => {
    const server = await start();
    const smtp = await client(server);
    const deliveryId = newId();
    await smtp.say('MAIL FROM:<>');
    await smtp.say(`RCPT TO:<${ours(deliveryId)}>`);
    await smtp.say('DATA');
    smtp.break(`${DSN}\r\n`);
    expect(await (await client(server)).send('', [ours()], DSN)).toMatch(/^250 /);
    expect(await reportsOf(deliveryId)).toEqual([]);
  });

  it('asks for the report again when it cannot be written down', async () => {
    const broken = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'spec',
      entities: [],
    });
    const smtp = await client(await start({}, broken));
    await broken.close();
    expect(await smtp.send('', [ours()], DSN)).toMatch(/^451 4\.3\.0 /);
  });

  it('sends a client away that guesses addresses, for the rest of the minute', async () => {
    const server = await start();
    const smtp = await client(server);
    await smtp.say('MAIL FROM:<>');
    let reply = '';
    for (let n = 0; n <= CLIENT_LIMITS.strangersPerMinute; n += 1) {
      reply = await smtp.say(`RCPT TO:<b+${n}@${HOST}>`);
      if (!reply.startsWith('550')) break;
    }
    expect(reply).toMatch(/^421 4\.7\.0 /);
    clock.advance(60_000);
    const later = await client(server);
    await later.say('MAIL FROM:<>');
    expect(await later.say(`RCPT TO:<b+x@${HOST}>`)).toMatch(/^550 /);
  });

  it('offers STARTTLS with a certificate', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'bounce-'));
    const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
    await writeFile(cert, localhostCertificate.cert);
    await writeFile(key, localhostCertificate.key);
    const server = await start({ BOUNCE_TLS_CERT_FILE: cert, BOUNCE_TLS_KEY_FILE: key });
    await rm(directory, { recursive: true });
    const socket = connect(server.port ?? 0, '127.0.0.1');
    const saying = async (line: string) => {
      socket.write(line);
      return String((await once(socket, 'data'))[0]);
    };
    await once(socket, 'data');
    expect(await saying('EHLO client.test\r\n')).toContain('STARTTLS');
    expect(await saying('STARTTLS\r\n')).toMatch(/^220 /);
    const secure = connectTls({ socket, ca: localhostCertificate.cert, servername: 'localhost' });
    await once(secure, 'secureConnect');
    expect(secure.authorized).toBe(true);
    secure.destroy();
  });

  it('does not start with a certificate that is not there, and says so', async () => {
    const missing = { BOUNCE_TLS_CERT_FILE: '/nowhere/cert.pem', BOUNCE_TLS_KEY_FILE: '/nowhere/key.pem' };
    await expect(start(missing)).rejects.toThrow(/certificate of the bounce server cannot be read/);
  });

  it('is not there without a port', async () => {
    expect((await start({ BOUNCE_PORT: '' })).port).toBeNull();
  });
});

describe('the limits of a client', () => {
  const now = new Date('2026-11-21T00:00:00Z');

  it('are those of its connections at once', () => {
    const limits = new ClientLimits(() => now);
    const enter = (n: number, address: string) => limits.enter(`${address} ${n}`, address);
    for (let n = 0; n < CLIENT_LIMITS.connections; n += 1) expect(enter(n, '192.0.2.1')).toBe(true);
    expect(enter(100, '192.0.2.1')).toBe(false);
    // A connection that was refused leaves as well.
    limits.leave('192.0.2.1 100');
    expect(enter(101, '192.0.2.1')).toBe(false);
    expect(enter(0, '192.0.2.2')).toBe(true);
    limits.leave('192.0.2.1 0');
    expect(enter(102, '192.0.2.1')).toBe(true);
  });

  it('are shared by an IPv6 network of /64', () => {
    const limits = new ClientLimits(() => now);
    const addresses = ['2001:db8::1', '2001:db8:0:0:1::'];
    for (let n = 0; n < CLIENT_LIMITS.mailsPerMinute; n += 1) {
      expect(limits.allows('mails', addresses[n % 2] ?? '')).toBe(true);
    }
    expect(limits.allows('mails', '2001:db8::beef')).toBe(false);
    expect(limits.allows('mails', '2001:db8:0:1::1')).toBe(true);
    expect(limits.allows('mails', '::ffff:192.0.2.1')).toBe(true);
    expect(limits.allows('strangers', '2001:db8::1')).toBe(true);
  });
});
