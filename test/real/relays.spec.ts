import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { SmtpClient } from '#testing/mail/smtp-client';
import { describeWith } from './parts.js';
import { HOST, PostfixOfPage, USER } from './support/postfix-page.js';
import type { ServerProcess } from './support/server-process.js';
import { expectVariedMailsToArrive } from './support/varied-mails.js';
import { WholeWay } from './support/whole-way.js';

const REFUSED = '550 5.1.1 No such user';

describeWith(['postfix', 'sasl'], 'the Postfix that docs/relays/postfix.md sets up', () => {
  let page: PostfixOfPage;
  let postfix: ServerProcess;
  let way: WholeWay;

  beforeAll(async () => {
    const bouncePort = await freePort();
    page = await PostfixOfPage.setUp(bouncePort);
    way = await WholeWay.start({
      BOUNCE_PORT: String(bouncePort),
      OUTGOING_PRIVATE_ADDRESSES: 'true',
      NODE_EXTRA_CA_CERTS: page.certificateFile,
      NODE_OPTIONS: '--import ./dist/test/real/support/host-names.js',
      TEST_HOST_NAMES: HOST,
    });
    postfix = await page.start(way.destination.port);
  });
  afterAll(async () => {
    await postfix?.stop();
    await way?.stop();
  });

  const ofPage = () => ({
    name: 'Postfix',
    kind: 'SMTP',
    host: HOST,
    port: page.port,
    username: USER,
    password: page.password,
  });
  const created = async (changes: object = {}): Promise<string> => {
    const answer = await way.client.post('/relays', { ...ofPage(), ...changes });
    expect([answer.status, answer.text]).toEqual([201, answer.text]);
    return answer.at('relayKey');
  };
  const checked = async (changes: object = {}): Promise<unknown> => {
    const relayKey = await created(changes);
    const { body } = await way.client.post(`/relays/${relayKey}/check`);
    expect((await way.client.delete(`/relays/${relayKey}`)).status).toBe(204);
    return body;
  };
  const refuse = (address: string) =>
    way.destination.behave({
      at: 'rcpt',
      action: { reply: REFUSED },
      when: ({ to }) => to.includes(address),
    });

  it('is ready, by its name and certificate, for who has the password', async () => {
    expect(await checked()).toMatchObject({
      isReady: true,
      capabilities: {
        pipelining: true,
        chunking: true,
        eightBitMime: true,
        smtpUtf8: true,
        size: 26_214_400,
      },
    });
    expect(await checked({ password: 'another' })).toMatchObject({
      isReady: false,
      stage: 'auth',
      detail: expect.stringContaining('535'),
    });
    expect(await checked({ host: '127.0.0.1' })).toMatchObject({ isReady: false, stage: 'tls' });
  });

  it('takes neither a password nor a mail in the clear', async () => {
    const client = await SmtpClient.open(page.port);
    expect(await client.say('AUTH PLAIN AGEAYg==')).toMatch(/^530 5\.7\.0 /);
    expect(await client.send('a@acme.example', ['ada@example.com'], 'Hello')).toMatch(/^530 5\.7\.0 /);
    client.break('QUIT\r\n');
  });

  it('takes the mail of an installation, and what it sends back has bounced', async () => {
    const credentials = `${encodeURIComponent(USER)}:${page.password}`;
    await way.relayThrough(
      `smtp://${credentials}@127.0.0.1:${page.port}?tls=required&rejectUnauthorized=false`,
    );
    await expectVariedMailsToArrive(way, 'installation', 60);
    refuse('gone@example.com');
    await way.send({ name: 'Sent back', contentText: 'Hello', readers: ['gone@example.com'] });
    await eventually('it has bounced', async () => (await way.statusOf('gone@example.com')) === 'BOUNCED');
  });

  it('takes the mail of a project whose relay it is, each once and with its signatures', async () => {
    const relayKey = await created();
    await way.relayThrough('');
    await expectVariedMailsToArrive(way, 'relay', 60);
    const relay = () => way.client.get(`/relays/${relayKey}`);
    await eventually('its use is told', async () => (await relay()).at('lastUsedAt') !== null);
    expect((await relay()).body).toMatchObject({ status: 'ACTIVE', lastError: null });
  });

  it('takes mail of which it finds later that nobody takes it: then it has bounced', async () => {
    refuse('left@example.com');
    const key = await way.send({ name: 'Left', contentText: 'Hello', readers: ['left@example.com'] });
    expect(await way.ended(key)).toMatchObject([{ state: 'SENT' }]);
    await eventually('it has bounced', async () => (await way.statusOf('left@example.com')) === 'BOUNCED');
  });

  it('is named by the mails that took it, with its queue ids', async () => {
    const { data } = (await way.client.get('/relays')).body as { data: { relayKey: string }[] };
    const key = await way.send({ name: 'Named', contentText: 'Hello', readers: ['ada@example.com'] });
    await way.ended(key);
    expect((await way.client.get(`/campaigns/${key}/deliveries`)).at('data', 0)).toMatchObject({
      relayKey: data[0]?.relayKey,
      providerMessageId: expect.stringMatching(/^\w+$/),
    });
  });
});
