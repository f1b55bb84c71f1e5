import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { rsaKey } from '#testing/mail/dkim-keys';
import { eventually } from '#testing/time/eventually';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { insertSendingDomain } from '#testing/fixtures/sending-domain';
import type { SmtpSink } from '#testing/mail/sink-rules';
import type { ProjectScope } from '#kernel';
import { type DeliveryRow, MessagingFixture, MINUTE } from '../messaging.fixture.js';
import { DeliveryPacingService } from './delivery-pacing.service.js';

const SECOND = 1_000;
const HOUR = 60 * MINUTE;
const KEY = rsaKey('mw1');

describe('four workers together', () => {
  let sink: SmtpSink;
  let workers: MessagingFixture[] = [];
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeEach(async () => {
    sink = await startRawSmtpSink();
  });

  afterEach(async () => {
    for (const worker of workers.toReversed()) await worker.close();
    workers = [];
    await sink.stop();
  });

  async function open(variables: Readonly<Record<string, string>>): Promise<void> {
    const all = { SMTP_URL: sink.url, ...variables };
    fixture = await MessagingFixture.open(all);
    workers = [fixture];
    while (workers.length < 4) workers.push(await fixture.beside(all));
    scope = await fixture.scope();
  }

  /** Moves the time and waits until nobody has anything to do at it. Resolves to how many mails have arrived by then. */
  async function after(milliseconds: number): Promise<number> {
    fixture.clock.advance(milliseconds);
    let looks = 0;
    await eventually('nothing is due', async () => {
      // Each wakening has four workers ask the database.
      if (looks++ % 10 === 0) for (const worker of workers) worker.engine.wake();
      const [row] = await fixture.test.query<{ busy: boolean }>(
        `select exists (select 1 from messaging.deliveries where finished_at is null
             and (next_attempt_at <= $1 or state in ('CLAIMED', 'SENDING'))) as busy`,
        [fixture.clock.now()],
      );
      return row?.busy === false;
    });
    return sink.count();
  }

  const start = () => {
    for (const worker of workers) worker.engine.start();
  };

  const arrivedOnce = (rows: readonly DeliveryRow[]) => {
    expect(rows.every(({ state, attempt }) => state === 'SENT' && attempt === 1)).toBe(true);
    expect(new Set(sink.messages.map(({ messageId }) => messageId)).size).toBe(rows.length);
    expect(sink.count()).toBe(rows.length);
  };

  it('send a domain no more than its limit a second, and everybody one mail', async () => {
    await open({ THROTTLE_DOMAIN_RATE: '20' });
    await fixture.queuedCampaign(scope, 60);
    start();
    const arrived = [await after(0)];
    while ((arrived.at(-1) ?? 0) < 60 && arrived.length < 60) arrived.push(await after(SECOND / 4));
    // Over every span of time: a second's worth after the rest, and the limit from then on.
    arrived.forEach((count, step) => {
      for (let earlier = 0; earlier < step; earlier += 1)
        expect(count - (arrived[earlier] ?? 0)).toBeLessThanOrEqual(((step - earlier) / 4) * 20 + 20);
    });
    expect(arrived[0]).toBeLessThanOrEqual(20);
    // And the limit is used: 60 mails in three seconds and a little.
    expect(arrived.length / 4).toBeLessThan(4);
    arrivedOnce(await fixture.deliveries());
  });

  it('do not hold up other domains when a mailbox provider has its limit', async () => {
    await open({ THROTTLE_SCALE: '0.1' });
    const campaign = await fixture.draft(scope, 80);
    await fixture.test.query(
      `update audience.subscribers set email = replace(email, 'example.com', case when id::text < '8' then 'gmail.com' else 'googlemail.com' end)
       where substr(subscriber_key, 6)::int <= 40`,
    );
    await fixture.sends(scope, campaign);
    start();
    expect(await after(0)).toBeLessThanOrEqual(40 + 5);
    const others = (await fixture.deliveries()).filter(({ address }) => address.endsWith('@example.com'));
    expect(others).toHaveLength(40);
    expect(others.every(({ state }) => state === 'SENT')).toBe(true);
    const waiting = (await fixture.deliveries()).filter(({ state }) => state === 'DEFERRED');
    expect(waiting.every(({ attempt, reason }) => attempt === 0 && reason === 'throttled')).toBe(true);
    for (let second = 0; second < 10; second += 1) await after(SECOND);
    arrivedOnce(await fixture.deliveries());
  });

  it('send one mail a minute to a destination that defers us, whichever of them it told', async () => {
    await open({});
    sink.behave({
      at: 'rcpt',
      action: { reply: '451 4.7.0 [TSS04] Messages temporarily deferred due to user complaints' },
      times: 1,
    });
    await fixture.queuedCampaign(scope, 150);
    start();
    const atHand = await after(0);
    // Mails that the workers had at hand before they heard of it.
    expect(atHand).toBeLessThan(4 * 20);
    const arrived = [atHand];
    for (let minute = 1; minute <= 12; minute += 1) arrived.push(await after(MINUTE));
    arrived.forEach((count, minute) => expect(count - atHand).toBeLessThanOrEqual(minute));
    expect((arrived.at(-1) ?? 0) - atHand).toBeGreaterThanOrEqual(10);
    const metrics = await Promise.all(workers.map((worker) => worker.get(Registry).metrics()));
    expect(metrics.join('\n').match(/mailwright_slow_downs_total\{destination="other"\} 1$/gm)).toHaveLength(
      1,
    );
    expect(await fixture.test.query('select 1 from audience.suppressions')).toEqual([]);
    await after(2 * HOUR);
    await after(HOUR);
    const rows = await fixture.deliveries();
    expect(rows.every(({ state }) => state === 'SENT')).toBe(true);
    expect(new Set(sink.messages.map(({ messageId }) => messageId)).size).toBe(150);
    expect(sink.count()).toBe(150);
  });

  it('slow a destination down when mails come back that it refused for our reputation', async () => {
    await open({});
    const campaign = await fixture.queuedCampaign(scope, 20);
    start();
    await after(0);
    const sent = await fixture.deliveries();
    const distrust = (worker: number, delivery: number) =>
      workers[worker]?.get(DeliveryPacingService).reported(scope, sent[delivery]?.id ?? '');
    const slowed = () => fixture.test.query('select destination from deliverability.slowed_destinations');
    // Repeated reports of one mail count once: its recipient may report it as often as they like.
    for (const worker of [0, 1, 2, 3]) await distrust(worker, 0);
    await distrust(1, 1);
    expect(await slowed()).toEqual([]);
    fixture.clock.advance(HOUR + MINUTE);
    await distrust(1, 2);
    await distrust(2, 3);
    expect(await slowed()).toEqual([]);
    await distrust(3, 4);
    expect(await slowed()).toEqual([{ destination: 'example.com' }]);

    const before = sink.count();
    await fixture.queuedAgain(scope, campaign);
    const atHand = await after(0);
    expect(atHand - before).toBeLessThanOrEqual(1);
    const arrived = [atHand];
    for (let minute = 1; minute <= 5; minute += 1) arrived.push(await after(MINUTE));
    arrived.forEach((count, minute) => expect(count - atHand).toBeLessThanOrEqual(minute));
    expect((arrived.at(-1) ?? 0) - atHand).toBeGreaterThanOrEqual(4);
    expect(await fixture.test.query('select 1 from audience.suppressions')).toEqual([]);
  });

  it('are not slowed down by mails that come back of a relay that is the project’s own', async () => {
    await open({});
    await fixture.queuedCampaign(scope, 5);
    start();
    await after(0);
    const sent = await fixture.deliveries();
    await fixture.test.query("update messaging.deliveries set relay_key = 'THRT-1'");
    for (const [delivery, { id }] of sent.entries())
      await workers[delivery % 4]?.get(DeliveryPacingService).reported(scope, id);
    expect(await fixture.test.query('select 1 from deliverability.slowed_destinations')).toEqual([]);
    await fixture.test.query('update messaging.deliveries set relay_key = null');
    for (const [delivery, { id }] of sent.entries())
      await workers[delivery % 4]?.get(DeliveryPacingService).reported(scope, id);
    expect(await fixture.test.query('select 1 from deliverability.slowed_destinations')).toHaveLength(1);
  });

  it('send exactly what a new domain may on its day, and the rest on the next', async () => {
    await open({ REQUIRE_VERIFIED_DOMAIN: 'true' });
    const domainName = 'mail.acme.example';
    const verifiedAt = new Date(fixture.clock.now().getTime() - HOUR);
    await insertSendingDomain(fixture.test, scope, { domainName, keys: [KEY], verifiedAt });
    await fixture.queuedCampaign(scope, 260, { fromEmail: `news@${domainName}` });
    start();
    expect(await after(0)).toBe(200);
    const waiting = (await fixture.deliveries()).filter(({ state }) => state !== 'SENT');
    expect(waiting).toHaveLength(60);
    for (const { state, reason, attempt, next_attempt_at } of waiting)
      expect([state, reason, attempt, next_attempt_at.getTime() - verifiedAt.getTime()]).toEqual([
        'DEFERRED',
        'warm-up',
        0,
        24 * HOUR,
      ]);
    expect(await after(22 * HOUR)).toBe(200);
    expect(await after(HOUR)).toBe(260);
    arrivedOnce(await fixture.deliveries());
  });
});
