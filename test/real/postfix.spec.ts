import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { describeWith } from './parts.js';
import { type Postfix, startPostfix } from './support/postfix.js';
import { expectVariedMailsToArrive } from './support/varied-mails.js';
import { startWire } from './support/wire.js';
import { RETURN_PATHS, WholeWay } from './support/whole-way.js';

const SERVICES = {
  'at its defaults': {},
  'that minds pipelining where it is not allowed': {
    smtpd_forbid_unauth_pipelining: 'yes',
    smtpd_data_restrictions: 'reject_unauth_pipelining',
  },
  'that allows two connections': {
    smtpd_client_connection_count_limit: '2',
    smtpd_client_event_limit_exceptions: '',
  },
  'that refuses some': {
    smtpd_discard_ehlo_keywords: 'size',
    message_size_limit: '30000',
    smtpd_recipient_restrictions: `check_recipient_access inline:{
      { unknown@example.com = 550 5.1.1 User unknown }, { grey@example.com = 450 4.2.0 Greylisted, come back } }`,
  },
};
const TRIED = ['SENT', 'FAILED', 'DEFERRED'];
const LARGE = `<p>${'It goes on. '.repeat(2_000)}</p>`;

describeWith(['postfix'], 'mail through Postfix', () => {
  let way: WholeWay;
  let postfix: Postfix;

  beforeAll(async () => {
    way = await WholeWay.start();
    const hops = { everywhere: way.destination.port, byDomain: { [RETURN_PATHS]: way.bouncePort } };
    postfix = await startPostfix(hops, SERVICES);
  });
  afterAll(async () => {
    await postfix?.stop();
    await way?.stop();
  });

  it.each([
    ['at its defaults', 'plain', 300],
    ['that minds pipelining where it is not allowed', 'strict', 60],
    ['that allows two connections', 'narrow', 60],
  ] as const)('%s arrives, each once and with its signatures', async (service, name, count) => {
    const wire = await startWire(postfix.urls[service]!);
    await way.relayThrough(wire.url);
    await expectVariedMailsToArrive(way, name, count);
    // That it did not mind them is what the mails are for.
    expect(wire.envelopesAhead()).toBeGreaterThan(0);
    await way.relayThrough(postfix.urls[service]!);
    await wire.stop();
  });

  it('that it refuses ends as what it is refused for', async () => {
    await way.relayThrough(postfix.urls['that refuses some']!);
    const ada = 'ada@example.com';
    const few = await way.send({
      name: 'Few',
      contentText: 'Hello',
      readers: [ada, 'unknown@example.com', 'grey@example.com'],
    });
    await eventually('each was tried', async () => {
      const tried = (await way.deliveries(few)).filter(({ state }) => TRIED.includes(state));
      return tried.length === 3;
    });
    expect(await way.deliveries(few)).toMatchObject([
      { address: ada, state: 'SENT' },
      { address: 'grey@example.com', state: 'DEFERRED', last_error: expect.stringContaining('Greylisted') },
      { address: 'unknown@example.com', state: 'FAILED', reason: 'hard' },
    ]);
    expect(await way.statusOf('unknown@example.com')).toBe('BOUNCED');
    expect(await way.statusOf('grey@example.com')).toBe('ACTIVE');
  });

  it('that is too large for it is refused as content, and its reader stays', async () => {
    const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: LARGE }] });
    const key = await way.send({ name: 'Large', contentJson, readers: ['bob@example.com'] });
    expect(await way.ended(key)).toMatchObject([
      { state: 'FAILED', reason: 'content', last_error: expect.stringMatching(/^552 5\.3\.4/) },
    ]);
    expect(await way.statusOf('bob@example.com')).toBe('ACTIVE');
  });

  it('that it defers is sent when it takes it', async () => {
    const key = await way.send({ name: 'Grey', contentText: 'Hello', readers: ['grey@example.com'] });
    const isDeferred = async () => (await way.deliveries(key))[0]?.state === 'DEFERRED';
    await eventually('it is deferred', isDeferred);
    await way.relayThrough(postfix.urls['at its defaults']!);
    await way.tryAgainNow();
    expect(await way.ended(key)).toMatchObject([{ state: 'SENT' }]);
  });

  it('that it accepts and sends back has bounced', async () => {
    const gone = 'gone@example.com';
    const action = { reply: '550 5.1.1 No such user' };
    way.destination.behave({ at: 'rcpt', action, when: ({ to }) => to.includes(gone) });
    const key = await way.send({ name: 'Sent back', contentText: 'Hello', readers: [gone] });
    expect(await way.ended(key)).toMatchObject([{ state: 'SENT' }]);
    await eventually('it has bounced', async () => (await way.statusOf(gone)) === 'BOUNCED');
  });
});
