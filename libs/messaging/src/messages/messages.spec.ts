import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { consentProof, SuppressionsService, TopicsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { eventually } from '#testing/time/eventually';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { SECRETS } from '#testing/programs/system';
import { DeliveryFeedbackService } from '../engagement/delivery-feedback.service.js';
import { MessageOutcomesService } from '../engagement/message-outcomes.service.js';
import { MailPersonalDataService } from '../mail-personal-data.service.js';
import { MessagingFixture } from '../messaging.fixture.js';
import type { MessageStatus, NewMessage } from './message.js';
import { MessageSealsService } from './message-seals.service.js';
import { MessageEventsQuery } from './message-events.query.js';
import { MessagesQuery } from './messages.query.js';
import { MessageAcceptanceService } from './message-acceptance.service.js';
import { MessagesService } from './messages.service.js';

const DAY_MS = 86_400_000;

describe('live messages', () => {
  let sink: SmtpSink;
  let messaging: MessagingFixture;
  let scope: ProjectScope;
  let count = 0;

  beforeAll(async () => {
    sink = await startSmtpSink();
    messaging = await MessagingFixture.open({ SMTP_URL: sink.url });
  });
  beforeEach(async () => {
    scope = await messaging.scope();
  });
  afterEach(() => messaging.clear());
  afterAll(async () => {
    await messaging?.close();
    await sink?.stop();
  });

  const recipient = (email: string) => {
    const parsed = parseEmailAddress(email);
    if ('fault' in parsed) throw new Error(parsed.fault);
    return { address: parsed.address, name: null };
  };
  const DRAFT: Omit<NewMessage, 'to'> = {
    cc: [],
    bcc: [],
    purpose: 'An order',
    topicKey: null,
    subject: 'Receipt',
    contentJson: null,
    text: 'Thank you.',
    data: {},
    headers: {},
    fromName: null,
    fromEmail: null,
    replyTo: [],
    tags: [],
    locale: null,
    scheduledAt: null,
    expiresAt: null,
    keep: 'CONTENT',
    track: { opens: false, clicks: false },
    ambiguous: 'RESEND',
  };
  const drafts = (...copies: readonly number[]): NewMessage[] =>
    copies.map((mails) => ({
      ...DRAFT,
      to: recipient(`person${(count += 1)}@example.com`),
      cc: Array.from({ length: mails - 1 }, () => recipient(`person${(count += 1)}@example.com`)),
    }));
  const send = (message: Partial<NewMessage> = {}) =>
    messaging.get(MessageAcceptanceService).send(scope, { ...drafts(1)[0]!, ...message });
  const withStatus = (id: string, status: MessageStatus) =>
    eventually(`the message is ${status}`, async () => {
      const found = await messaging.get(MessagesQuery).get(scope, id);
      return found.status === status ? found : null;
    });
  async function sent() {
    const message = await send();
    messaging.engine.start();
    return withStatus(message.id, 'SENT');
  }

  const eventsOf = async (id: string) =>
    (await messaging.get(MessageEventsQuery).page(scope, id, { page: 0, size: 20 })).items;

  it('are refused with the reason while they are stopped for their bounces', async () => {
    const other = scope;
    scope = await messaging.scope();
    await messaging.test.query(
      `insert into messaging.sending_stops (environment_id, stream, reason, stopped_at) values ($1, 'TRANSACTIONAL', 'Too many.', now()),
         ($2, 'MARKETING', 'Campaigns alone.', now())`,
      [scope.environmentId, other.environmentId],
    );
    await expect(send()).rejects.toMatchObject({
      code: 'invalid-state',
      message: expect.stringContaining('Too many.'),
    });
    scope = other;
    expect(await send()).toMatchObject({ status: 'QUEUED' });
  });

  it('are accepted once, also where the run before committed after it was looked for', async () => {
    const acceptance = messaging.get(MessageAcceptanceService);
    const request = { digest: Buffer.alloc(32, 7), isTakenOver: false };
    const [one, two] = drafts(1, 1);
    const first = await acceptance.send(scope, one!, request);
    const again = await acceptance.sendBatch(scope, [one!, two!], 'ALL', request);
    expect(again).toEqual([first, { ...first, id: expect.any(String), to: expect.any(String) }]);
    const [row] = await messaging.test.query<{ count: number }>(
      'select count(*)::int as count from messaging.messages where environment_id = $1',
      [scope.environmentId],
    );
    expect(row?.count).toBe(2);
  });

  it('are told what a provider says of them: delivered, bounced, complained about', async () => {
    const feedback = messaging.get(DeliveryFeedbackService);
    const { id, to } = await sent();
    await feedback.delivered(scope, [id]);
    expect(await withStatus(id, 'DELIVERED')).toMatchObject({ deliveredAt: expect.any(Date) });
    await feedback.complained(scope, id);
    await withStatus(id, 'COMPLAINED');
    await feedback.delivered(scope, [id]);
    await withStatus(id, 'COMPLAINED');
    const told = (await eventsOf(id)).map(({ type }) => type);
    expect(told).toEqual(['QUEUED', 'ATTEMPTED', 'SENT', 'DELIVERED', 'COMPLAINED']);
    const suppressions = messaging.get(SuppressionsService);
    expect(await suppressions.isSuppressed(scope, to, 'TRANSACTIONAL')).toBe(true);
    const other = await sent();
    await feedback.bounced(scope, other.id, 'hard');
    await withStatus(other.id, 'BOUNCED');
    expect(await suppressions.isSuppressed(scope, other.to, 'TRANSACTIONAL')).toBe(true);
  });

  it('about a topic are marketing to who complains about one, who still gets receipts', async () => {
    const { topicIds } = await messaging.draft(scope, 1);
    const [topic] = await messaging.get(TopicsQuery).named(scope, topicIds);
    const [subscriber] = await messaging.test.query<{ email: string }>(
      'select email from audience.subscribers where environment_id = $1',
      [scope.environmentId],
    );
    const to = recipient(subscriber!.email);
    const { id } = await send({ to, topicKey: topic!.topicKey });
    messaging.engine.start();
    await withStatus(id, 'SENT');
    await messaging.get(DeliveryFeedbackService).complained(scope, id);
    await withStatus(id, 'COMPLAINED');
    await expect(send({ to, topicKey: topic!.topicKey })).rejects.toMatchObject({ code: 'suppressed' });
    await withStatus((await send({ to })).id, 'SENT');
  });

  it('stay DELIVERED when it is told before it is written down that they were sent', async () => {
    const { id } = await send();
    await messaging.get(DeliveryFeedbackService).delivered(scope, [id]);
    messaging.engine.start();
    await eventually('it is sent', async () => (await messaging.get(MessagesQuery).get(scope, id)).sentAt);
    await withStatus(id, 'DELIVERED');
  });

  it('that keep nothing lose their content when their last mails end at once', async () => {
    const { id } = await send({ keep: 'NOTHING', cc: [recipient('cc@example.com')] });
    const database = messaging.get(Database);
    const mails = await messaging.test.query<{ id: string }>(
      'select id from messaging.deliveries where source_id = $1 order by id',
      [id],
    );
    const committed = Promise.withResolvers<void>();
    let ended = 0;
    const end = (mail: string, until: Promise<void>) =>
      database.transaction(scope, async () => {
        await sql`update messaging.deliveries set state = 'SENT', sent_at = now(), finished_at = now() where id = ${mail}`.execute(
          database.tables(),
        );
        await messaging.get(MessageOutcomesService).settle(scope, [mail]);
        ended += 1;
        await until;
      });
    const first = end(mails[0]!.id, committed.promise);
    await eventually('the first has ended', () => ended === 1);
    const second = end(mails[1]!.id, Promise.resolve());
    await eventually('the second waits for it, or has ended', async () => {
      const waiting = await messaging.test.query('select 1 from pg_locks where not granted');
      return ended === 2 || waiting.length > 0;
    });
    committed.resolve();
    await Promise.all([first, second]);
    const left = await messaging.test.query(
      'select status, sealed_content as sealed from messaging.messages where id = $1',
      [id],
    );
    expect(left).toEqual([{ status: 'SENT', sealed: null }]);
  });

  it('bounce where the next hop knows no such mailbox, and fail where it refuses the content', async () => {
    for (const [reply, status] of [
      ['550 5.1.1 No such user', 'BOUNCED'],
      ['554 5.6.0 Not like this', 'FAILED'],
    ] as const) {
      const behavesAgain = sink.behave({ at: 'rcpt', action: { reply } });
      const { id } = await send();
      messaging.engine.start();
      expect((await withStatus(id, status)).failureReason).toContain(reply.slice(4, 9));
      behavesAgain();
      const events = await eventsOf(id);
      expect(events.map(({ type }) => type)).toEqual(['QUEUED', 'ATTEMPTED', status]);
      expect(events[1]).toMatchObject({ reply: expect.stringContaining(reply) });
      expect(events[2]).toMatchObject(
        status === 'BOUNCED' ? { bounceClass: 'hard', reason: null } : { reason: 'content' },
      );
    }
  });

  it('tell of each attempt with the reply, and of their mail to `to` alone', async () => {
    const behavesAgain = sink.behave({ at: 'rcpt', action: { reply: '451 4.3.0 Try later' } });
    const { id } = await send({ cc: [recipient('copy@example.com')] });
    messaging.engine.start();
    const events = await eventually('it was attempted', async () => {
      const found = await eventsOf(id);
      return found.length > 1 ? found : null;
    });
    expect(events).toMatchObject([
      { type: 'QUEUED', id },
      { type: 'ATTEMPTED', reply: expect.stringContaining('451 4.3.0 Try later'), relayKey: null },
    ]);
    expect(await messaging.get(MessagesQuery).get(scope, id)).toMatchObject({ status: 'QUEUED' });
    behavesAgain();
  });

  it('go to each recipient once, and count against the plan, which is never passed', async () => {
    const quota = messaging.get(EmailQuotaService);
    messaging.clock.advance(60_000);
    const now = messaging.clock.now();
    await quota.reserve(scope, (await quota.remaining(scope, now)) - 5, now);
    const copies = { cc: [recipient('cc@example.com')], bcc: [recipient('bcc@example.com')] };
    await send(copies);
    await expect(send(copies)).rejects.toMatchObject({
      errors: { to: expect.stringContaining('2 e-mails left') },
    });
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => send()));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await quota.remaining(scope, now)).toBe(0);
    const [rows] = await messaging.test.query(
      `select (select count(*)::int from messaging.messages where environment_id = $1) as messages,
        (select count(*)::int from messaging.deliveries where environment_id = $1) as mails`,
      [scope.environmentId],
    );
    expect(rows).toEqual({ messages: 3, mails: 5 });
  });

  it('of a batch take what the plan has left: as a whole or not at all, or as many as fit, in their order', async () => {
    const quota = messaging.get(EmailQuotaService);
    const messages = messaging.get(MessageAcceptanceService);
    messaging.clock.advance(60_000);
    const now = messaging.clock.now();
    await quota.reserve(scope, (await quota.remaining(scope, now)) - 6, now);
    await expect(messages.sendBatch(scope, drafts(2, 2, 3), 'ALL')).rejects.toMatchObject({
      errors: {
        'messages[2].to': 'is one of 3 recipients, and the plan has 2 e-mails left this month',
      },
    });
    expect(await quota.remaining(scope, now)).toBe(6);
    const outcomes = await messages.sendBatch(scope, drafts(2, 5, 3, 1, 1), 'EACH');
    expect(
      outcomes.map((outcome) => ('status' in outcome ? outcome.status : outcome.members['errors'])),
    ).toEqual([
      'QUEUED',
      { 'messages[1].to': 'is one of 5 recipients, and the plan has 4 e-mails left this month' },
      'QUEUED',
      'QUEUED',
      { 'messages[4].to': 'is one of 1 recipients, and the plan has 0 e-mails left this month' },
    ]);
    expect(await quota.remaining(scope, now)).toBe(0);
    const [whole] = await messaging.test.query<{ mails: number }>(
      'select count(*)::int as mails from messaging.deliveries where environment_id = $1',
      [scope.environmentId],
    );
    expect(whole).toEqual({ mails: 6 });
  });

  it('name no number of e-mails when the subscription allows no sending', async () => {
    const messages = messaging.get(MessageAcceptanceService);
    const reason = 'cannot get it: the subscription does not allow sending';
    for (const gone of [
      `update billing.subscriptions set status = 'CANCELLED'`,
      'delete from billing.subscriptions',
    ]) {
      await messaging.test.query(`${gone} where tenant_id = $1`, [scope.tenantId]);
      await expect(messages.sendBatch(scope, drafts(1, 2), 'ALL')).rejects.toMatchObject({
        errors: { 'messages[0].to': reason, 'messages[1].to': reason },
      });
    }
  });

  it('give their e-mails back to the plan when they are not sent: cancelled, expired, suppressed, refused or erased', async () => {
    const quota = messaging.get(EmailQuotaService);
    messaging.clock.advance(60_000);
    const now = messaging.clock.now();
    const before = await quota.remaining(scope, now);
    const later = new Date(now.getTime() + DAY_MS);
    const [cancelled, expired, suppressed, erased, refused, gone] = [
      await send({ scheduledAt: later, cc: [recipient('copy@example.com')] }),
      await send({ scheduledAt: later, expiresAt: new Date(later.getTime() + 60_000) }),
      await send({ scheduledAt: later }),
      await send({ scheduledAt: later }),
      await send({ scheduledAt: later }),
      await send({ scheduledAt: later }),
    ];
    expect(await quota.remaining(scope, now)).toBe(before - 7);
    await messaging.get(MessagesService).cancel(scope, cancelled.id);
    expect(await quota.remaining(scope, now)).toBe(before - 5);
    await messaging
      .get(SuppressionsService)
      .suppress(scope, recipient(suppressed.to).address, 'HARD_BOUNCE', consentProof('API_KEY', null));
    const [{ digest }] = (await messaging.test.query<{ digest: Buffer }>(
      'select to_digest as digest from messaging.messages where id = $1',
      [erased.id],
    )) as [{ digest: Buffer }];
    await messaging
      .get(Database)
      .transaction(scope, () =>
        messaging
          .get(MailPersonalDataService)
          .erase(scope, { subscriberId: erased.id, addressDigest: digest.toString('hex') }),
      );
    const behavesAgain = sink.behave({
      at: 'rcpt',
      when: ({ to }) => to.includes(refused.to),
      action: { reply: '550 5.1.1 No such user' },
    });
    messaging.clock.advance(DAY_MS + 120_000);
    messaging.engine.start();
    await withStatus(expired.id, 'EXPIRED');
    await withStatus(suppressed.id, 'SUPPRESSED');
    await withStatus(erased.id, 'FAILED');
    await withStatus(refused.id, 'BOUNCED');
    await withStatus(gone.id, 'SENT');
    behavesAgain();
    expect(await quota.remaining(scope, now)).toBe(before - 1);
    expect(await messaging.usage(scope)).toEqual({ reserved: 0, used: 1 });
  });

  it('that are cancelled as they are sent give back exactly what is not sent', async () => {
    const quota = messaging.get(EmailQuotaService);
    messaging.clock.advance(60_000);
    const now = messaging.clock.now();
    const before = await quota.remaining(scope, now);
    messaging.engine.start();
    const states = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const { id } = await send();
        for (let turn = 0; turn < index % 5; turn += 1) await messaging.get(MessagesQuery).get(scope, id);
        const isCancelled = await messaging
          .get(MessagesService)
          .cancel(scope, id)
          .then(
            () => true,
            () => false,
          );
        return withStatus(id, isCancelled ? 'CANCELLED' : 'SENT');
      }),
    );
    const sentOnes = states.filter(({ status }) => status === 'SENT').length;
    expect(await quota.remaining(scope, now)).toBe(before - sentOnes);
    expect(await messaging.usage(scope)).toEqual({ reserved: 0, used: sentOnes });
  });

  it('whose fate nobody knows are sent once more, or held where they say so', async () => {
    const [again, held] = [await send(), await send({ ambiguous: 'HOLD' })];
    // As a sender leaves it that died with the body on its way.
    await messaging.test.query(
      `update messaging.deliveries set state = 'SENDING', attempt = 1, lease_until = now() - interval '1 minute',
         lease_token = gen_random_uuid() where id = any($1)`,
      [[again.id, held.id]],
    );
    messaging.engine.start();
    await withStatus(again.id, 'SENT');
    expect((await withStatus(held.id, 'FAILED')).failureReason).toMatch(/stopped before the reply/);
  });

  it('that keep nothing are encrypted again when the master key changes', async () => {
    const { id } = await send({
      keep: 'NOTHING',
      data: { a: 'b' },
      scheduledAt: new Date(messaging.clock.now().getTime() + DAY_MS),
    });
    const sealed = async () => {
      const [row] = await messaging.test.query<{ sealed: string }>(
        'select sealed_content as sealed from messaging.messages where id = $1',
        [id],
      );
      return row!.sealed;
    };
    const before = await sealed();
    const next = {
      MASTER_KEY: 'the next master key of this test, long',
      ERASED_ADDRESS_KEY: SECRETS.MASTER_KEY,
    };
    const during = await messaging.beside({ ...next, MASTER_KEY_PREVIOUS: SECRETS.MASTER_KEY });
    const seals = during.get(MessageSealsService);
    expect([await seals.resealSecrets(10), await seals.resealSecrets(10)]).toEqual([1, 0]);
    await during.close();
    expect(await sealed()).not.toBe(before);
    const after = await messaging.beside(next);
    expect(after.get(MessageSealsService).open(scope, await sealed())).toMatchObject({ data: { a: 'b' } });
    await after.close();
  });

  it('lose their content 30 days after they ended, and nothing before', async () => {
    const { id } = await sent();
    await messaging.engine.stop(1_000);
    const hasContent = async () => {
      await messaging.get(MessagesService).forget();
      const [row] = await messaging.test.query<{ kept: boolean }>(
        'select content is not null as kept from messaging.messages where id = $1',
        [id],
      );
      return row!.kept;
    };
    messaging.clock.advance(30 * DAY_MS - 60_000);
    expect(await hasContent()).toBe(true);
    messaging.clock.advance(120_000);
    expect(await hasContent()).toBe(false);
  });

  it('forget who is erased, to whom they were or who got a copy', async () => {
    const scheduledAt = new Date(messaging.clock.now().getTime() + DAY_MS);
    const [ada, bob] = [recipient('ada@example.com'), recipient('bob@example.com')];
    const toAda = await send({ to: ada, cc: [bob], scheduledAt });
    const toBob = await send({ to: bob, cc: [ada], scheduledAt });
    const toCarl = await send({ to: recipient('carl@example.com'), cc: [ada, bob], scheduledAt });
    // His own mail has ended, and those of the copies have not.
    await messaging.test.query('update messaging.messages set finished_at = now() where id = $1', [
      toCarl.id,
    ]);
    const digests = await messaging.test.query<{ digest: Buffer }>(
      'select to_digest as digest from messaging.messages where id = $1',
      [toAda.id],
    );
    const erased = { subscriberId: toAda.id, addressDigest: digests[0]!.digest.toString('hex') };
    await messaging
      .get(Database)
      .transaction(scope, () => messaging.get(MailPersonalDataService).erase(scope, erased));
    const rows = await messaging.test.query<{ all: string }>(
      `select (select json_agg(m) from messaging.messages m where environment_id = $1)::text
         || (select json_agg(d) from messaging.deliveries d where environment_id = $1)::text as all`,
      [scope.environmentId],
    );
    expect(rows[0]!.all).not.toContain('ada@example.com');
    expect((await messaging.get(MessagesQuery).get(scope, toBob.id)).to).toBe('bob@example.com');
    const kept = await messaging.test.query(
      `select content -> 'cc' as cc from messaging.messages where id = any($1)`,
      [[toBob.id, toCarl.id]],
    );
    expect(kept).toEqual([{ cc: [] }, { cc: [] }]);
    messaging.clock.advance(2 * DAY_MS);
    messaging.engine.start();
    await withStatus(toBob.id, 'SENT');
    expect((await withStatus(toAda.id, 'FAILED')).failureReason).toBe('erased');
  });
});
