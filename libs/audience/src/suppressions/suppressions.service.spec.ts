import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { address, AudienceFixture, PROOF } from '../audience.fixture.js';
import { ConsentsService } from '../sign-up/consents.service.js';
import { consentProof } from '../consents/consent.js';
import { UnsubscribeService } from '../sign-up/unsubscribe.service.js';
import { PersonalDataService } from '../personal-data.service.js';
import type { MailStream } from './suppression.js';
import { type FailureCause, SuppressionsService } from './suppressions.service.js';

const ADA = 'ada@example.com';

describe('suppressions', () => {
  let audience: AudienceFixture;
  let service: SuppressionsService;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(SuppressionsService);
  });
  afterAll(() => audience.close());

  it('of a global unsubscribe revoke all consents and record who did it', async () => {
    const scope = await audience.scope();
    const topics = [await audience.topic(scope), await audience.topic(scope, { doubleOptInEnabled: true })];
    const ada = await audience.subscribe(scope, ADA, ...topics);
    const proof = consentProof('API_KEY', 'key-1', {
      source: 'GLOBAL_UNSUBSCRIBE',
      ipAddress: '203.0.113.9',
    });
    const standing = await service.suppress(scope, address(ADA), 'GLOBAL_UNSUBSCRIBE', proof);
    expect(standing).toEqual({
      email: ADA,
      reason: 'GLOBAL_UNSUBSCRIBE',
      streams: 'MARKETING',
      suppressedAt: audience.clock.now(),
    });
    const consents = await audience.consentsOf(scope, ADA);
    expect([...consents.values()].map(({ status }) => status)).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED']);
    expect(await audience.statusOf(scope, ADA)).toBe('SUPPRESSED');
    const recorded = await audience.test.query(
      `select distinct actor, source, ip_address from audience.consent_ledger
       where subscriber_id = $1 and to_status = 'UNSUBSCRIBED'`,
      [ada.id],
    );
    expect(recorded).toEqual([{ actor: 'API_KEY', source: 'GLOBAL_UNSUBSCRIBE', ip_address: '203.0.113.9' }]);
  });

  it('of bounces and complaints leave the consents, and show in the status until they are lifted', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    await audience.subscribe(scope, ADA, topic);
    for (const [reason, status] of [
      ['HARD_BOUNCE', 'BOUNCED'],
      ['SPAM_COMPLAINT', 'COMPLAINED'],
      ['BLOCKED', 'SUPPRESSED'],
    ] as const) {
      await service.suppress(scope, address(ADA), reason, PROOF);
      expect(await audience.statusOf(scope, ADA)).toBe(status);
      expect((await audience.consentsOf(scope, ADA)).get(topic.topicKey)?.status).toBe('SUBSCRIBED');
      await service.lift(scope, address(ADA));
      expect(await audience.statusOf(scope, ADA)).toBe('ACTIVE');
    }
  });

  it('keep their first reason and time, even when many come at once', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    await audience.subscribe(scope, ADA, topic);
    const first = await service.suppress(scope, address(ADA), 'HARD_BOUNCE', PROOF);
    audience.clock.advance(1_000);
    const again = await Promise.all(
      ['ADA@example.com', ADA, 'Ada@EXAMPLE.com'].map((email) =>
        service.suppress(scope, address(email), 'GLOBAL_UNSUBSCRIBE', PROOF),
      ),
    );
    expect(again).toEqual([first, first, first]);
    expect(await audience.statusOf(scope, ADA)).toBe('BOUNCED');
    expect((await audience.consentsOf(scope, ADA)).get(topic.topicKey)?.status).toBe('UNSUBSCRIBED');
  });

  it('may be of addresses that are no subscribers, and are lifted with or without having been', async () => {
    const scope = await audience.scope();
    const stranger = address('Stranger@example.com');
    const none = {
      email: 'Stranger@example.com',
      suppressed: false,
      reason: null,
      streams: null,
      suppressedAt: null,
    };
    expect(await service.of(scope, stranger)).toEqual(none);
    await service.lift(scope, stranger);
    await service.suppress(scope, stranger, 'HARD_BOUNCE', PROOF);
    expect(await service.of(scope, address('stranger@EXAMPLE.com'))).toEqual({
      email: 'Stranger@example.com',
      suppressed: true,
      reason: 'HARD_BOUNCE',
      streams: 'ALL',
      suppressedAt: audience.clock.now(),
    });
    expect(await service.isSuppressed(scope, stranger.key)).toBe(true);
    await service.lift(scope, stranger);
    expect(await service.of(scope, stranger)).toEqual(none);
  });

  it('once lifted, do not bring consents back, which can be granted again', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    await audience.subscribe(scope, ADA, topic);
    await service.suppress(scope, address(ADA), 'GLOBAL_UNSUBSCRIBE', PROOF);
    await service.lift(scope, address(ADA));
    expect(await audience.statusOf(scope, ADA)).toBe('UNSUBSCRIBED');
    await audience.get(ConsentsService).grant(scope, address(ADA), topic.topicKey, PROOF);
    expect(await audience.statusOf(scope, ADA)).toBe('ACTIVE');
  });

  it('are listed newest first, by reason if wanted', async () => {
    const scope = await audience.scope();
    await service.suppress(scope, address('a@example.com'), 'HARD_BOUNCE', PROOF);
    await service.suppress(scope, address('b@example.com'), 'SPAM_COMPLAINT', PROOF);
    audience.clock.advance(1);
    await service.suppress(scope, address('c@example.com'), 'HARD_BOUNCE', PROOF);
    const emails = async (filter: Parameters<SuppressionsService['page']>[1], page = 0) => {
      const { items, totalElements } = await service.page(scope, filter, { page, size: 2 });
      return [items.map(({ email }) => email[0]).join(''), totalElements];
    };
    expect(await emails({})).toEqual(['cb', 3]);
    expect(await emails({}, 1)).toEqual(['a', 3]);
    expect(await emails({}, 2)).toEqual(['', 3]);
    expect(await emails({ reason: 'HARD_BOUNCE' })).toEqual(['ca', 2]);
    expect(await emails({ reason: 'GLOBAL_UNSUBSCRIBE' })).toEqual(['', 0]);
  });

  describe('bar streams of mail', () => {
    const BOUNCED: FailureCause = { reason: 'HARD_BOUNCE', streams: 'ALL' };
    const COMPLAINED: FailureCause = { reason: 'SPAM_COMPLAINT', streams: 'MARKETING' };

    /** The streams barred for an address, asked in each of the ways: by itself, among many, in SQL. */
    async function barred(scope: ProjectScope, email: string): Promise<readonly MailStream[]> {
      const key = address(email).key;
      const ways = (stream: MailStream) =>
        audience.database.transaction(scope, async () => {
          const { rows } = await sql<{ held: boolean }>`
            select ${service.isColumnSuppressed(scope, sql`k.key`, stream)} as held from unnest(array[${key}]) k(key)
          `.execute(audience.database.tables());
          const among = await service.suppressedAmong(scope, [key, 'other@example.com'], stream);
          return [
            await service.isSuppressed(scope, key, stream),
            among.has(key),
            rows[0]?.held,
            among.size > 0,
          ];
        });
      const [marketing, transactional] = [await ways('MARKETING'), await ways('TRANSACTIONAL')];
      for (const answers of [marketing, transactional]) expect(new Set(answers).size).toBe(1);
      return [
        ...(marketing[0] === true ? (['MARKETING'] as const) : []),
        ...(transactional[0] === true ? (['TRANSACTIONAL'] as const) : []),
      ];
    }

    it.each([
      ['GLOBAL_UNSUBSCRIBE', 'MARKETING', ['MARKETING']],
      ['SPAM_COMPLAINT', 'MARKETING', ['MARKETING']],
      ['HARD_BOUNCE', 'ALL', ['MARKETING', 'TRANSACTIONAL']],
      ['BLOCKED', 'ALL', ['MARKETING', 'TRANSACTIONAL']],
    ] as const)('by reason: %s bars %s, erased or not', async (reason, streams, expected) => {
      const scope = await audience.scope();
      await audience.subscribe(scope, ADA, await audience.topic(scope));
      expect(await barred(scope, ADA)).toEqual([]);
      expect(await service.suppress(scope, address(ADA), reason, PROOF)).toMatchObject({ reason, streams });
      expect(await barred(scope, ADA)).toEqual(expected);
      await audience.get(PersonalDataService).erase(scope, address(ADA), PROOF);
      expect(await barred(scope, ADA)).toEqual(expected);
      expect(await service.of(scope, address(ADA))).toMatchObject({ reason, streams });
      await service.lift(scope, address(ADA));
      expect(await barred(scope, ADA)).toEqual([]);
    });

    it('of the mail complained of', async () => {
      const scope = await audience.scope();
      const mailed = (email: string) => ({ ...address(email), subscriberId: null });
      await service.suppressAll(scope, [mailed('news@example.com')], COMPLAINED);
      await service.suppressAll(scope, [mailed('receipt@example.com')], { ...COMPLAINED, streams: 'ALL' });
      expect(await barred(scope, 'news@example.com')).toEqual(['MARKETING']);
      expect(await barred(scope, 'receipt@example.com')).toEqual(['MARKETING', 'TRANSACTIONAL']);
    });

    it.each(['known', 'erased'])('more and never fewer, of an address that is %s', async (state) => {
      const scope = await audience.scope();
      await audience.subscribe(scope, ADA, await audience.topic(scope));
      const first = await service.suppress(scope, address(ADA), 'GLOBAL_UNSUBSCRIBE', PROOF);
      if (state === 'erased') await audience.get(PersonalDataService).erase(scope, address(ADA), PROOF);
      audience.clock.advance(1_000);
      for (const [reason, streams] of [
        ['SPAM_COMPLAINT', 'MARKETING'],
        ['BLOCKED', 'ALL'],
        ['HARD_BOUNCE', 'ALL'],
        ['GLOBAL_UNSUBSCRIBE', 'ALL'],
      ] as const) {
        const holds = await service.suppress(scope, address(ADA), reason, PROOF);
        expect(holds).toEqual({ ...first, streams });
        expect(await service.of(scope, address(ADA))).toEqual({ ...holds, suppressed: true });
      }
    });

    it('all, whichever of a bounce and a complaint comes first, at once', async () => {
      const scope = await audience.scope();
      const topic = await audience.topic(scope);
      const emails = Array.from({ length: 8 }, (_, index) => `race-${index}@example.com`);
      const ids = new Map<string, string>();
      for (const email of emails) ids.set(email, (await audience.subscribe(scope, email, topic)).id);
      const mailed = emails.map((email) => ({ ...address(email), subscriberId: ids.get(email)! }));
      await Promise.all(
        mailed.flatMap((one, index) =>
          [COMPLAINED, BOUNCED, COMPLAINED].map((cause) =>
            index % 2 === 0
              ? service.suppressAll(scope, [one], cause)
              : service.suppressAll(scope, mailed.toReversed(), cause),
          ),
        ),
      );
      for (const email of emails) expect(await barred(scope, email)).toEqual(['MARKETING', 'TRANSACTIONAL']);
    });
  });

  it('concern one project and environment only', async () => {
    const { live, test } = await audience.project('ONE');
    for (const scope of [live, test]) await audience.subscribe(scope, ADA, await audience.topic(scope));
    await service.suppress(test, address(ADA), 'GLOBAL_UNSUBSCRIBE', PROOF);
    await service.lift(live, address(ADA));
    expect(await audience.statusOf(live, ADA)).toBe('ACTIVE');
    expect(await audience.statusOf(test, ADA)).toBe('SUPPRESSED');
    expect((await service.page(live, {}, { page: 0, size: 20 })).totalElements).toBe(0);
  });

  describe('the unsubscribe link of a mail', () => {
    const by = consentProof('ONE_CLICK', newId(), {
      ipAddress: '198.51.100.3',
      messageId: '<d@example.com>',
    });

    it('revokes the topics of that mail only, once', async () => {
      const scope = await audience.scope();
      const [news, offers] = [await audience.topic(scope), await audience.topic(scope)];
      const ada = await audience.subscribe(scope, ADA, news, offers);
      const preferences = audience.get(UnsubscribeService);
      const results = await Promise.all(
        [1, 2].map(() => preferences.leaveTopics(scope, ada.id, [news.id, newId()], by)),
      );
      expect(results).toEqual([expect.any(String), results[0]]);
      const consents = await audience.consentsOf(scope, ADA);
      expect([news, offers].map(({ topicKey }) => consents.get(topicKey)?.status)).toEqual([
        'UNSUBSCRIBED',
        'SUBSCRIBED',
      ]);
      const recorded = await audience.test.query(
        "select actor, actor_id, message_id from audience.consent_ledger where subscriber_id = $1 and to_status = 'UNSUBSCRIBED'",
        [ada.id],
      );
      expect(recorded).toEqual([{ actor: 'ONE_CLICK', actor_id: by.actorId, message_id: '<d@example.com>' }]);
      const stranger = await audience.scope();
      expect(await preferences.leaveTopics(stranger, ada.id, [offers.id], by)).toBeNull();
    });

    it('can leave everything: all consents go and the address is suppressed', async () => {
      const scope = await audience.scope();
      const ada = await audience.subscribe(
        scope,
        'Ada@example.com',
        await audience.topic(scope),
        await audience.topic(scope),
      );
      await audience
        .get(UnsubscribeService)
        .leaveEverything(scope, ada.id, { ...by, actor: 'SUBSCRIBER_PAGE' });
      await audience.get(UnsubscribeService).leaveEverything(scope, newId(), by);
      expect(await audience.statusOf(scope, ADA)).toBe('SUPPRESSED');
      expect(await service.of(scope, address(ADA))).toMatchObject({
        email: 'Ada@example.com',
        reason: 'GLOBAL_UNSUBSCRIBE',
      });
      expect((await audience.ledger(ada.id)).slice(2)).toEqual([
        'SUBSCRIBED → UNSUBSCRIBED (SUBSCRIBER_PAGE)',
        'SUBSCRIBED → UNSUBSCRIBED (SUBSCRIBER_PAGE)',
      ]);
    });
  });
});
