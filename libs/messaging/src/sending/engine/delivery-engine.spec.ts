import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { newId, type ProjectScope } from '#kernel';
import { MailMetrics, SmtpTransport } from '#platform';
import { consentProof, UnsubscribeService, SuppressionsService } from '#audience';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { type DeliveryRow, MessagingFixture, MINUTE } from '../../messaging.fixture.js';
import { DeliveryClaimsQuery, LEASE_MS } from './delivery-claims.query.js';
import { DeliverySourcesService } from './delivery-sources.service.js';
import { DeliveryStoreRepository } from './delivery-store.repository.js';
import { DeliverySenderFactory } from './delivery-sender.service.js';
import { InstallationRoute } from './installation.route.js';

const DAY = 24 * 60 * MINUTE;

describe('the delivery engine', () => {
  let sink: SmtpSink;
  /** That of most tests. */
  let opened: MessagingFixture;
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  /** One that comes back after it was away comes back on its own port. */
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    opened = await MessagingFixture.open({ SMTP_URL: `smtp://127.0.0.1:${port}` });
  });

  afterAll(() => opened.close());

  beforeEach(async () => {
    sink = await startRawSmtpSink({ port });
    fixture = opened;
    scope = await fixture.scope();
  });

  afterEach(async () => {
    if (fixture !== opened) await fixture.close();
    await opened.clear();
    await sink.stop();
  });

  const statusOf = async (id: string) => {
    const [row] = await fixture.test.query<{ status: string }>(
      'select status from messaging.campaigns where id = $1',
      [id],
    );
    return row?.status;
  };

  it('delivers to a server that greylists everybody on the second try', async () => {
    const seen = new Set<string>();
    sink.behave({
      at: 'rcpt',
      when: ({ to }) => seen.size < seen.add(to.join()).size,
      action: { reply: '451 4.7.1 Greylisted, try again later' },
    });
    const campaign = await fixture.queuedCampaign(scope, 100);
    fixture.engine.start();
    const waiting = await fixture.settled('all wait', ({ state }) => state === 'DEFERRED');
    expect(waiting).toHaveLength(100);
    expect(waiting.every(({ attempt, reason }) => attempt === 1 && reason === 'policy')).toBe(true);
    fixture.later(7 * MINUTE);
    const sent = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    expect(sent.every(({ attempt }) => attempt === 2)).toBe(true);
    fixture.engine.wake();
    await eventually('the campaign is sent', async () => (await statusOf(campaign.id)) === 'SENT');
    expect(sink.count()).toBe(100);
  });

  it('tries a mail for as long as any, however long its campaign was paused before', async () => {
    sink.behave({ at: 'rcpt', action: { reply: '451 4.7.1 Greylisted, try again later' }, times: 1 });
    const { campaignKey } = await fixture.queuedCampaign(scope, 1);
    const control = fixture.get(CampaignLifecycleService);
    await control.pause(scope, campaignKey);
    fixture.clock.advance(3 * DAY);
    await control.resume(scope, campaignKey);
    fixture.engine.start();
    const tried = ({ state }: DeliveryRow) => /^(SENT|DEFERRED|FAILED)$/.test(state);
    expect(await fixture.settled('it was tried', tried)).toMatchObject([{ state: 'DEFERRED', attempt: 1 }]);
    fixture.later(7 * MINUTE);
    await fixture.settled('it is sent', ({ state }) => state === 'SENT');
  });

  it('dates a campaign’s end after its last mail, however long the look for more took', async () => {
    const campaign = await fixture.queuedCampaign(scope, 2);
    fixture.clock.advance(700);
    const lastSentAt = fixture.clock.now();
    await fixture.test.query(
      `update messaging.deliveries set state = 'SENT', sent_at = $1, finished_at = $1`,
      [lastSentAt],
    );
    const campaigns = fixture.get(DeliverySourcesService).of('LIVE').at(-1);
    await campaigns?.claim(10, newId());
    expect(await fixture.campaign(campaign.id)).toMatchObject({ status: 'SENT', completed_at: lastSentAt });
  });

  it('ends a campaign with its last mail, and not at the next turn', async () => {
    // With connections of its own: none of them has to be made again.
    fixture = await MessagingFixture.open({ SMTP_URL: `smtp://127.0.0.1:${port}` });
    scope = await fixture.scope();
    const { id } = await fixture.queuedCampaign(scope, 3);
    const transport = new SmtpTransport({
      url: sink.url,
      connections: 2,
      messagesPerConnection: 10,
      ehloName: 'worker.sender.test',
    });
    const [metrics, logger] = [fixture.get(MailMetrics), pino({ level: 'silent' })];
    const route = new InstallationRoute(transport, metrics, fixture.clock, logger);
    const sender = fixture
      .get(DeliverySenderFactory)
      .make(fixture.get(DeliverySourcesService).of('LIVE').at(-1)!, route);
    const { setTimeout: later } = globalThis;
    const noTurn = jest
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation((turn) => later(turn, DAY).unref());
    try {
      // It hears of nothing.
      sender.start();
      while ((await statusOf(id)) !== 'SENT') expect(await statusOf(id)).toMatch(/SENDING|SENT/);
    } finally {
      noTurn.mockRestore();
      await sender.stop();
      await transport.close();
    }
    expect(sink.count()).toBe(3);
  });

  it('suppresses an address that does not exist, and gives its e-mail back', async () => {
    sink.behave({ at: 'rcpt', action: { reply: '550 5.1.1 No such user' }, times: 1 });
    await fixture.queuedCampaign(scope, 2);
    fixture.engine.start();
    const rows = await fixture.settled(
      'all are terminal',
      ({ state }) => state === 'SENT' || state === 'FAILED',
    );
    const failed = rows.filter(({ state }) => state === 'FAILED');
    expect(failed.map(({ reason }) => reason)).toEqual(['hard']);
    expect(await fixture.get(SuppressionsService).isSuppressed(scope, failed[0]?.address ?? '')).toBe(true);
    expect(await fixture.usage(scope)).toEqual({ used: 1, reserved: 0 });
  });

  it('sends once more, under the same Message-ID, what got no reply after the body', async () => {
    sink.behave({ at: 'body', action: 'drop', times: 1 });
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    const [lost] = await fixture.settled('it waits', ({ state }) => state === 'DEFERRED');
    expect(lost?.possible_duplicate).toBe(true);
    fixture.later(2 * MINUTE);
    const [sent] = await fixture.settled('it is sent', ({ state }) => state === 'SENT');
    expect(sent).toMatchObject({ attempt: 2, possible_duplicate: true, message_id: lost?.message_id });
    expect(sink.messages.at(-1)?.messageId).toBe(lost?.message_id);
  });

  it('stops at two unknown fates', async () => {
    sink.behave({ at: 'body', action: 'drop' });
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    await fixture.settled('it waits', ({ state }) => state === 'DEFERRED');
    fixture.later(2 * MINUTE);
    const [row] = await fixture.settled('it is given up', ({ state }) => state === 'AMBIGUOUS');
    expect(row).toMatchObject({ attempt: 2, reason: 'no-reply' });
  });

  it('sends at most once under the policy HOLD, and shows what is unknown', async () => {
    sink.behave({ at: 'body', action: 'drop', times: 1 });
    fixture = await opened.beside({ SMTP_URL: sink.url, AMBIGUOUS_POLICY: 'HOLD' });
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    const [row] = await fixture.settled('it is held', ({ state }) => state === 'AMBIGUOUS');
    expect(row).toMatchObject({ attempt: 1, reason: 'no-reply' });
  });

  it.each(['dies too', 'stops'])(
    'sends nothing under the policy HOLD that was on a dead sender’s wire, when the next to claim it %s',
    async (end) => {
      fixture = await opened.beside({ SMTP_URL: sink.url, AMBIGUOUS_POLICY: 'HOLD' });
      await fixture.queuedCampaign(scope, 1);
      await fixture.test.query(
        `update messaging.deliveries set state = 'SENDING', lease_token = gen_random_uuid(), lease_until = $1, attempt = 1`,
        [fixture.clock.now()],
      );
      const [campaign] = await fixture
        .get(DeliveryClaimsQuery)
        .campaignsUnderWay({ environment: 'LIVE', scope: null });
      const claimed = await fixture.get(DeliveryClaimsQuery).claimCampaign(campaign!, 10, newId());
      expect(claimed).toMatchObject([{ interrupted: true }]);
      if (end === 'stops') await fixture.get(DeliveryStoreRepository).release(scope, claimed);
      fixture.clock.advance(2 * MINUTE);
      fixture.engine.start();
      await fixture.settled('it is held', ({ state }) => state === 'AMBIGUOUS');
      expect(sink.count()).toBe(0);
    },
  );

  it('waits while the next hop is down, without counting that as an attempt', async () => {
    await sink.stop();
    await fixture.queuedCampaign(scope, 4);
    fixture.engine.start();
    await eventually('one was tried', async () =>
      (await fixture.deliveries()).some(({ last_error }) => last_error !== null),
    );
    const rows = await fixture.settled('nothing is claimed', ({ lease_token }) => lease_token === null);
    expect(
      rows.every(({ state, attempt }) => attempt === 0 && (state === 'DEFERRED' || state === 'PENDING')),
    ).toBe(true);
    const metrics = fixture.get(Registry);
    const pauses = () => metrics.getSingleMetricAsString('mailwright_route_pauses_total');
    const until = () => metrics.getSingleMetricAsString('mailwright_route_paused_until_seconds');
    expect(await pauses()).toMatch(/_total [1-9]\d*$/m);
    expect(await until()).toMatch(/_seconds 1[\d.]{9,}$/m);
    sink = await startRawSmtpSink({ port: sink.port });
    fixture.later(2 * MINUTE);
    await eventually('all are sent', async () => {
      const all = await fixture.deliveries();
      // Far less than a lease: what is being claimed meanwhile stays claimed.
      if (all.every(({ lease_token }) => lease_token === null)) fixture.later(LEASE_MS / 20);
      return all.every(({ state }) => state === 'SENT');
    });
    expect(sink.count()).toBe(4);
    expect(await until()).toMatch(/_seconds 0$/m);
  });

  it('takes no time from a mail’s tries while the next hop is down', async () => {
    await sink.stop();
    await fixture.queuedCampaign(scope, 1);
    fixture.engine.start();
    await fixture.settled(
      'it waits',
      ({ state, lease_token }) => state === 'DEFERRED' && lease_token === null,
    );
    sink = await startRawSmtpSink({ port: sink.port });
    sink.behave({ at: 'rcpt', action: { reply: '451 4.7.1 Greylisted, try again later' }, times: 1 });
    fixture.later(3 * DAY);
    await eventually('it was refused', async () => {
      const [row] = await fixture.deliveries();
      if (row?.attempt === 0 && row.lease_token === null) fixture.later(LEASE_MS / 20);
      return row?.attempt === 1 && row.lease_token === null;
    });
    expect(await fixture.deliveries()).toMatchObject([{ state: 'DEFERRED', reason: 'policy' }]);
  });

  it('asks once more before it sends: who left, was suppressed or was erased gets nothing', async () => {
    await fixture.queuedCampaign(scope, 4);
    const [left, suppressed, erased] = await fixture.test.query<{ id: string; email: string }>(
      'select id, email from audience.subscribers where environment_id = $1 order by email',
      [scope.environmentId],
    );
    const topics = await fixture.test.query<{ id: string }>(
      'select id from audience.topics where environment_id = $1',
      [scope.environmentId],
    );
    const by = consentProof('SUBSCRIBER_PAGE', 'x', { ipAddress: '203.0.113.7' });
    await fixture.get(UnsubscribeService).leaveTopics(
      scope,
      left?.id ?? '',
      topics.map(({ id }) => id),
      by,
    );
    await fixture.test.query(
      `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
       values ($1, $2, $2, 'SPAM_COMPLAINT', now())`,
      [scope.environmentId, suppressed?.email],
    );
    await fixture.test.query('delete from audience.subscribers where id = $1', [erased?.id]);
    fixture.engine.start();
    const rows = await fixture.settled(
      'all are terminal',
      ({ state }) => state === 'SENT' || state === 'SKIPPED',
    );
    expect(rows.map(({ reason }) => reason)).toEqual(['unsubscribed', 'suppressed', 'erased', null]);
    expect(sink.count()).toBe(1);
  });

  it('gives a person up within the hour whose values alone exceed the bounds of the template', async () => {
    const contentText =
      '{% for turn in (1..400) %}{% for name in subscriber.first_name %}{% endfor %}{% endfor %}Hello!';
    const campaign = await fixture.draft(scope, 3, { contentText });
    await fixture.test.query(
      `update audience.subscribers set first_name = repeat('x', 50)
       where id = (select id from audience.subscribers where environment_id = $1 order by email limit 1)`,
      [scope.environmentId],
    );
    await fixture.sends(scope, campaign);
    // However long others came before it.
    fixture.clock.advance(120 * MINUTE);
    fixture.engine.start();
    const first = await fixture.settled('each was tried', ({ state }) =>
      /^(SENT|DEFERRED|FAILED)$/.test(state),
    );
    expect(first.map(({ state, reason, attempt }) => [state, reason, attempt])).toEqual([
      ['DEFERRED', 'unknown', 0],
      ['SENT', null, 1],
      ['SENT', null, 1],
    ]);
    fixture.later(40 * MINUTE);
    const [last] = await fixture.settled('it is given up', ({ state }) => /^(SENT|FAILED)$/.test(state));
    expect([last?.reason, last?.last_error]).toEqual(['unknown', expect.stringMatching(/limit exceeded/)]);
    fixture.engine.wake();
    await eventually('the campaign is sent', async () => (await statusOf(campaign.id)) === 'SENT');
    expect(sink.count()).toBe(2);
  });

  it('takes over what a dead sender had claimed, when its lease is over and not before', async () => {
    await fixture.queuedCampaign(scope, 2);
    await fixture.test.query(
      `update messaging.deliveries set state = case when address like 'reader-1@%' then 'CLAIMED' else 'SENDING' end,
         lease_token = gen_random_uuid(), lease_until = $1, attempt = 1`,
      [new Date(fixture.clock.now().getTime() + MINUTE)],
    );
    expect(
      await fixture.get(DeliveryClaimsQuery).campaignsUnderWay({ environment: 'LIVE', scope: null }),
    ).toEqual([]);
    fixture.clock.advance(2 * MINUTE);
    fixture.engine.start();
    const rows = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    expect(rows.map(({ possible_duplicate }) => possible_duplicate)).toEqual([false, true]);
    expect(sink.count()).toBe(2);
  });

  it('hands back what it had claimed when it stops, and finishes what is on the wire', async () => {
    sink.behave({ at: 'body', action: { delayMs: 200 } });
    await fixture.queuedCampaign(scope, 30);
    fixture.engine.start();
    await eventually('some are sent', () => sink.count() >= 2);
    await fixture.engine.stop(10_000);
    const rows = await fixture.deliveries();
    expect(rows.every(({ lease_token }) => lease_token === null)).toBe(true);
    expect(rows.filter(({ state }) => state === 'SENT')).toHaveLength(sink.count());
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT', 'PENDING']));
  });

  it('sends nothing of a campaign that is no longer sending', async () => {
    await fixture.queuedCampaign(scope, 3);
    await fixture.test.query(`update messaging.campaigns set status = 'PAUSED'`);
    fixture.engine.start();
    fixture.later(MINUTE);
    await fixture.engine.stop(5_000);
    expect(sink.count()).toBe(0);
    expect((await fixture.deliveries()).map(({ state }) => state)).toEqual(Array(3).fill('PENDING'));
  });
});
