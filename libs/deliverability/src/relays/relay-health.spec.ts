import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { ProjectScope } from '#kernel';
import { DeliverabilityFixture } from '#testing/fixtures/deliverability';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { RelayHealthService } from './relay-health.service.js';
import type { Relay } from './relay.js';
import { RelayRepository } from './relay.repository.js';
import { RelaysService } from './relays.service.js';

const CREDENTIALS = { user: 'acme', pass: 's3cret' };

describe('a project’s relays', () => {
  let fixture: DeliverabilityFixture;
  let sink: SmtpSink;
  let scope: ProjectScope;
  let health: RelayHealthService;
  let relays: RelaysService;

  beforeAll(async () => {
    fixture = await DeliverabilityFixture.start({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
    sink = await startSmtpSink({ credentials: CREDENTIALS });
    scope = (await fixture.project()).live;
    health = fixture.get(RelayHealthService);
    relays = fixture.get(RelaysService);
  });
  afterAll(async () => {
    await sink.stop();
    await fixture.stop();
  });

  const relay = (settings: { readonly ratePerSecond?: number } = {}): Promise<Relay> =>
    relays.create(scope, {
      kind: 'SMTP',
      name: 'Ours',
      host: '127.0.0.1',
      port: sink.port,
      tls: 'OPPORTUNISTIC',
      username: CREDENTIALS.user,
      secrets: { password: CREDENTIALS.pass },
      ...settings,
    });
  const change = (sets: string, { id }: Relay) =>
    fixture.database.query(`update deliverability.relays set ${sets} where id = $1`, [id]);
  const rowOf = async ({ id }: Relay) => {
    const [row] = await fixture.database.query('select * from deliverability.relays where id = $1', [id]);
    return row;
  };

  it('come back though the password of another cannot be decrypted, which says so', async () => {
    const [works, sealed] = [await relay(), await relay()];
    for (const each of [works, sealed]) await change("status = 'FAILING', retry_at = '2026-01-01'", each);
    await change("password_box = 'of another key'", sealed);
    expect(await health.tryAgain()).toBe(2);
    expect(await rowOf(works)).toMatchObject({ status: 'ACTIVE', last_error: null });
    const last_error = expect.stringContaining('cannot be decrypted');
    expect(await rowOf(sealed)).toMatchObject({ status: 'FAILING', last_error });
  });

  it('say why they failed in whatever words the server used', async () => {
    const strange = await relay();
    await change("status = 'FAILING', retry_at = '2026-01-01'", strange);
    sink.behave({ at: 'greeting', action: { reply: '554 Go\0away' }, times: 1 });
    expect(await health.tryAgain()).toBe(1);
    const last_error = expect.stringContaining('Go away');
    expect(await rowOf(strange)).toMatchObject({ status: 'FAILING', last_error });
  });

  it('are told of as used without waiting for who changes one of them', async () => {
    const [changing, other] = [await relay(), await relay()];
    const client = new pg.Client({ connectionString: fixture.database.adminUrl });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select 1 from deliverability.relays where id = $1 for update', [changing.id]);
      await health.used([changing, other]);
    } finally {
      await client.end();
    }
    expect(await rowOf(changing)).toMatchObject({ last_used_at: null });
    expect(await rowOf(other)).toMatchObject({ last_used_at: expect.any(Date) });
  });

  it('go by another rate as soon as they are given it', async () => {
    const rates = fixture.get(RelayRepository);
    const slow = await relay({ ratePerSecond: 0.001 });
    expect([await rates.takePlaces(slow, 5), await rates.takePlaces(slow, 5)]).toEqual([1, 0]);
    await relays.change(scope, slow.relayKey, { ratePerSecond: 5, secrets: {} });
    expect([await rates.takePlaces(slow, 5), await rates.takePlaces(slow, 5)]).toEqual([5, 0]);
  });
});

describe('the rate of a relay', () => {
  let fixture: DeliverabilityFixture;

  beforeAll(async () => {
    fixture = await DeliverabilityFixture.start({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
  });

  afterAll(() => fixture.stop());

  const relayOf = async (ratePerSecond: number) => {
    const { live } = await fixture.project();
    const relay = {
      kind: 'SMTP',
      name: 'Ours',
      host: '127.0.0.1',
      port: 587,
      ratePerSecond,
      secrets: {},
    } as const;
    return fixture.get(RelaysService).create(live, relay);
  };
  const take = (relay: Awaited<ReturnType<typeof relayOf>>, wanted: number): Promise<number> =>
    fixture.get(RelayRepository).takePlaces(relay, wanted);

  it('is shared by all workers: of a second no more places are given than it has', async () => {
    const relay = await relayOf(10);
    const taken = await Promise.all([take(relay, 6), take(relay, 6), take(relay, 6)]);
    expect(taken.toSorted()).toEqual([0, 4, 6]);
    fixture.clock.advance(500);
    expect(await take(relay, 100)).toBe(5);
    fixture.clock.advance(60_000);
    expect(await take(relay, 100)).toBe(10);
  });

  it('may be below one: then there is a place as often as it says', async () => {
    const relay = await relayOf(0.1);
    expect([await take(relay, 5), await take(relay, 5)]).toEqual([1, 0]);
    fixture.clock.advance(9_900);
    expect(await take(relay, 5)).toBe(0);
    fixture.clock.advance(100);
    expect(await take(relay, 5)).toBe(1);
  });
});
