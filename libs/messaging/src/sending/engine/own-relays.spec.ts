import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SmtpSink } from '#testing/mail/sink-rules';
import type { ProjectScope } from '#kernel';
import { type Relay, RelaysService } from '#deliverability';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { LEASE_MS } from './delivery-claims.query.js';
import { RelaysInUseService } from './relays-in-use.service.js';
import { type DeliveryRow, MessagingFixture, MINUTE } from '../../messaging.fixture.js';

type Settings = Partial<Pick<Relay, 'priority' | 'weight' | 'streams' | 'connections' | 'ratePerSecond'>>;
type Row = DeliveryRow & {
  readonly relay_key: string | null;
  readonly provider_message_id: string | null;
  readonly sent_at: Date | null;
};

describe('The relays of a project', () => {
  let installation: SmtpSink;
  let first: RawSmtpSink;
  let second: SmtpSink;
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  /** One that comes back after it was away comes back on its own port. */
  const ports: number[] = [];

  beforeAll(async () => {
    while (ports.length < 3) ports.push(await freePort());
    const SMTP_URL = `smtp://127.0.0.1:${ports[0]}`;
    fixture = await MessagingFixture.open({ SMTP_URL, OUTGOING_PRIVATE_ADDRESSES: 'true' });
  });

  afterAll(() => fixture.close());

  beforeEach(async () => {
    [installation, first, second] = await Promise.all([
      startRawSmtpSink({ port: ports[0] }),
      startRawSmtpSink({ port: ports[1] }),
      startRawSmtpSink({ port: ports[2] }),
    ]);
    scope = await fixture.scope();
  });

  afterEach(async () => {
    // Then nothing hangs on a wire, and the senders have all ended before the next test.
    for (const sink of [installation, first, second]) await sink.stop();
    await fixture.engine.stop(2 * MINUTE);
    await fixture.clear();
  });

  const relayTo = (sink: SmtpSink, settings: Settings = {}, of = scope): Promise<Relay> =>
    fixture.get(RelaysService).create(of, {
      kind: 'SMTP',
      name: 'Ours',
      host: '127.0.0.1',
      port: sink.port,
      tls: 'OPPORTUNISTIC',
      secrets: {},
      ...settings,
    });

  const stateOf = async ({ id }: Relay) => {
    const [row] = await fixture.test.query<{
      status: string;
      last_error: string | null;
      last_used_at: Date | null;
    }>('select status, last_error, last_used_at from deliverability.relays where id = $1', [id]);
    return row!;
  };
  /** The worker knows of what was changed, as it does within a second. */
  const seen = () => fixture.get(RelaysInUseService).refresh();
  /** Moves the time while it fails, by less than a lease: what is claimed meanwhile stays its sender's. */
  const worksAgain = (relay: Relay) =>
    eventually('it works again', async () => {
      if ((await stateOf(relay)).status === 'ACTIVE') return true;
      fixture.later(LEASE_MS / 2);
      return false;
    });
  const rows = () => fixture.test.query<Row>('select * from messaging.deliveries');
  const isSent = ({ state }: DeliveryRow) => state === 'SENT';

  // First, since a worker tells of it every ten seconds.
  it('with a rate get no envelope ahead of a mail that waits for its place', async () => {
    await relayTo(first, { connections: 1, ratePerSecond: 1 });
    await fixture.queuedCampaign(scope, 5);
    fixture.engine.start();
    await eventually('one is sent', () => first.count() > 0);
    await fixture.engine.stop(2 * MINUTE);
    expect(first.commands.filter((line) => line === 'DATA')).toHaveLength(first.count());
  });

  it('say since when they were used', async () => {
    const relay = await relayTo(first);
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    await eventually('it was used', async () => (await stateOf(relay)).last_used_at !== null);
  });

  it('take its mail from the installation’s, by their weights, and each mail says whose it was', async () => {
    const three = await relayTo(first, { weight: 3 });
    const one = await relayTo(second, { weight: 1 });
    await fixture.queuedCampaign(scope, 40);
    fixture.engine.start();
    await fixture.settled('all are sent', isSent);
    expect([first.count(), second.count(), installation.count()]).toEqual([30, 10, 0]);
    const sent = await rows();
    expect(sent.filter(({ relay_key }) => relay_key === three.relayKey)).toHaveLength(30);
    expect(sent.filter(({ relay_key }) => relay_key === one.relayKey)).toHaveLength(10);
    expect(
      sent.every(({ provider_message_id, sent_at }) => provider_message_id !== null && sent_at !== null),
    ).toBe(true);
  });

  it('take the streams that they are for; the others stay with the installation’s', async () => {
    await relayTo(first, { streams: ['OPT_IN'] });
    await fixture.queuedCampaign(scope, 3);
    await fixture.asksToConfirm(scope, 'ada@example.com');
    fixture.engine.start();
    await fixture.settled('all are sent', isSent);
    expect(first.messages.map(({ to }) => to)).toEqual([['ada@example.com']]);
    expect(installation.count()).toBe(3);
  });

  it('are passed over while they cannot be reached, and come back', async () => {
    const best = await relayTo(first, { priority: 1 });
    await relayTo(second, { priority: 2 });
    await first.stop();
    const campaign = await fixture.queuedCampaign(scope, 10);
    fixture.engine.start();
    const sent = await fixture.settled('all are sent', isSent);
    expect(second.count()).toBe(10);
    // Not having reached a relay is no attempt at a mail.
    expect(sent.every(({ attempt }) => attempt === 1)).toBe(true);
    expect(await stateOf(best)).toMatchObject({ status: 'FAILING', last_error: expect.any(String) });

    first = await startRawSmtpSink({ port: first.port });
    await worksAgain(best);
    expect((await stateOf(best)).last_error).toBeNull();
    await eventually('mail goes by it again', async () => {
      await fixture.queuedAgain(scope, campaign);
      await fixture.settled('all are sent', isSent);
      return first.count() > 0;
    });
  });

  it('keep mail waiting while none of them can be used, and lose none', async () => {
    const only = await relayTo(first);
    await first.stop();
    await fixture.queuedCampaign(scope, 5);
    fixture.engine.start();
    await eventually('it failed', async () => (await stateOf(only)).status === 'FAILING');
    await eventually('what was at hand is given back', async () =>
      (await rows()).every(({ state, lease_token }) => state !== 'SENT' && lease_token === null),
    );
    first = await startRawSmtpSink({ port: first.port });
    await worksAgain(only);
    await fixture.settled('all are sent', isSent);
    expect([first.count(), installation.count()]).toEqual([5, 0]);
  });

  it('get a mail again that may have arrived by them, and no other relay does', async () => {
    const best = await relayTo(first, { connections: 1 });
    first.behave({ at: 'body', action: 'drop', times: 1 });
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    const [lost] = await fixture.settled('it waits', ({ state }) => state === 'DEFERRED');
    expect(lost).toMatchObject({ possible_duplicate: true, relay_key: best.relayKey });
    await relayTo(second, { priority: 1, weight: 100 });
    await fixture.get(RelaysService).change(scope, best.relayKey, { status: 'PAUSED', secrets: {} });
    await seen();
    fixture.later(2 * MINUTE);
    const waits = async () => {
      const [row] = await rows();
      return row?.state === 'DEFERRED' && row.next_attempt_at > fixture.clock.now();
    };
    await eventually('it waits for its relay', waits);
    expect(second.count()).toBe(0);
    await fixture.get(RelaysService).change(scope, best.relayKey, { status: 'ACTIVE', secrets: {} });
    await seen();
    fixture.later(2 * MINUTE);
    await fixture.settled('it is sent', isSent);
    expect([second.count(), installation.count()]).toEqual([0, 0]);
    expect(first.messages.at(-1)?.messageId).toBe(lost?.message_id);
  });

  it('are not followed by another when they are deleted with a mail that may have arrived', async () => {
    const relay = await relayTo(first);
    first.behave({ at: 'body', action: 'drop', times: 1 });
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    await fixture.settled('it waits', ({ state }) => state === 'DEFERRED');
    await fixture.get(RelaysService).remove(scope, relay.relayKey);
    await seen();
    fixture.later(2 * MINUTE);
    const [row] = await fixture.settled('it ends', ({ state }) => state === 'AMBIGUOUS');
    expect(row).toMatchObject({ reason: 'no-reply', relay_key: relay.relayKey });
    expect(installation.count()).toBe(0);
  });

  it('leave to the installation’s what waits when they are deleted', async () => {
    const relay = await relayTo(first);
    first.behave({ at: 'rcpt', action: { reply: '451 4.3.0 Not now' } });
    await fixture.queuedCampaign(scope, 3);
    fixture.engine.start();
    await fixture.settled('all wait', ({ state }) => state === 'DEFERRED');
    await fixture.get(RelaysService).remove(scope, relay.relayKey);
    await seen();
    fixture.later(10 * MINUTE);
    await fixture.settled('all are sent', isSent);
    expect(installation.count()).toBe(3);
    expect((await rows()).map(({ relay_key }) => relay_key)).toEqual([null, null, null]);
  });

  it('hold up nobody else’s mail when they fail or say nothing', async () => {
    await relayTo(first);
    first.behave({ at: 'greeting', action: 'hang' });
    await fixture.queuedCampaign(scope, 5);
    const other = await fixture.scope();
    const theirs = await fixture.queuedCampaign(other, 5);
    fixture.engine.start();
    await eventually(
      'the other project’s campaign is sent',
      async () => (await fixture.campaign(theirs.id)).status === 'SENT',
    );
    expect(installation.count()).toBe(5);
  });

  it('have no more mail on their wires than they have connections, though they are changed meanwhile', async () => {
    const silent = await relayTo(first, { connections: 3 });
    await relayTo(second, { connections: 1 });
    const held: (() => void)[] = [];
    first.behave({ at: 'body', action: { hold: (answer) => held.push(answer) }, times: 6 });
    await fixture.queuedCampaign(scope, 40);
    fixture.engine.start();
    await eventually('each connection waits', () => held.length === 3);
    await fixture.get(RelaysService).change(scope, silent.relayKey, { weight: 2, secrets: {} });
    await seen();
    const before = second.count();
    await eventually('the other goes on', () => second.count() >= before + 3);
    expect(held).toHaveLength(3);
    for (const answer of held) answer();
    await eventually('they go on', () => held.length === 6);
    for (const answer of held.slice(3)) answer();
    await fixture.settled('all are sent', isSent);
    expect(first.count() + second.count()).toBe(40);
  });

  it('are not held up by one of them that is slow', async () => {
    await relayTo(first, { connections: 10 });
    await relayTo(second, { connections: 1 });
    const held: (() => void)[] = [];
    const speaks = first.behave({ at: 'body', action: { hold: (answer) => held.push(answer) } });
    await fixture.queuedCampaign(scope, 300);
    fixture.engine.start();
    await eventually('the other takes all that the slow one has no room for', () => second.count() === 200);
    speaks();
    for (const answer of held) answer();
    await fixture.settled('all are sent', isSent);
    expect(first.count()).toBe(100);
  });

  it('go on where they were after a pause of the campaign', async () => {
    await relayTo(first);
    const { campaignKey } = await fixture.queuedCampaign(scope, 30);
    const control = fixture.get(CampaignLifecycleService);
    fixture.engine.start();
    await eventually('some are sent', () => Promise.resolve(first.count() > 0));
    await control.pause(scope, campaignKey);
    await control.resume(scope, campaignKey);
    await fixture.settled('all are sent', isSent);
    expect(first.count()).toBe(30);
  });

  it('get no mail before it is sure to be remembered whose it is, should PostgreSQL crash', async () => {
    const relay = await relayTo(first);
    first.behave({ at: 'body', action: 'hang' });
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    const [row] = await fixture.settled('it is on the wire', ({ state }) => state === 'SENDING');
    // Marks of an epoch are not waited for.
    expect(row).toMatchObject({ relay_key: relay.relayKey, lease_epoch: null });
  });
});
