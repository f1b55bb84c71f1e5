import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError, newId, type ProjectScope } from '#kernel';
import * as fc from '#testing/random/properties';
import { address, AudienceFixture, ConfirmationPages, HOUR, PROOF } from '../audience.fixture.js';
import { PersonalDataService } from '../personal-data.service.js';
import { AddressChangesService } from './address-changes.service.js';
import { PreferencesService } from './preferences.service.js';
import { UnsubscribeService } from './unsubscribe.service.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { TopicsService } from '../topics/topics.service.js';
import type { TopicView } from '../topics/topics.query.js';
import { ConfirmationsService } from './confirmations.service.js';
import {
  consentProof,
  type ConsentStatus,
  subscriberStatus,
  type SuppressionReason,
} from '../consents/consent.js';
import { ConsentsService } from './consents.service.js';

/** Sequences of operations, each on a few people of its own. */
const RUNS = fc.runs(25);
const PEOPLE = 3;
/** One is nobody's at first. */
const ADDRESSES = PEOPLE + 1;
const AT_ONCE = 8;

const KINDS = [
  'grant',
  'revoke',
  'resend',
  'join',
  'leave',
  'leaveEverything',
  'undo',
  'oneClick',
  'suppress',
  'lift',
  'confirm',
  'askAgain',
  'expire',
  'erase',
  'create',
  'move',
  'moveWithProof',
] as const;
const REASONS = ['GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE', 'BLOCKED'] as const;

interface Operation {
  readonly kind: (typeof KINDS)[number];
  readonly person: number;
  readonly topic: number;
  readonly reason: (typeof REASONS)[number];
  readonly waitMs: number;
}

const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(...KINDS, 'grant', 'join', 'confirm'),
  person: fc.nat(ADDRESSES - 1),
  topic: fc.nat(2),
  reason: fc.constantFrom(...REASONS),
  waitMs: fc.oneof(
    { weight: 12, arbitrary: fc.nat(2_000) },
    { weight: 1, arbitrary: fc.constant(49 * HOUR) },
  ),
});

interface World {
  readonly scope: ProjectScope;
  readonly topics: readonly TopicView[];
  readonly emails: readonly string[];
}

interface LedgerRow {
  readonly subscriber_id: string;
  readonly topic_id: string;
  readonly from_status: string | null;
  readonly to_status: string;
  readonly occurred_at: Date;
  readonly source: string | null;
  readonly is_move: boolean;
}

/** A consent by the record; an address that left a topic before its erasure did so earlier than the record says. */
interface Explained {
  readonly status: string;
  readonly revokedAt: Date | 'earlier' | null;
  readonly subscribedAt: Date | null;
}

describe('consents that many change at once', () => {
  let audience: AudienceFixture;
  beforeAll(async () => {
    audience = await AudienceFixture.open();
  });
  afterAll(() => audience.close());

  async function world(): Promise<World> {
    const scope = await audience.scope();
    const topics = [
      await audience.topic(scope),
      await audience.topic(scope, { doubleOptInEnabled: true }),
      await audience.topic(scope, { doubleOptInEnabled: true }),
    ];
    const emails = Array.from({ length: ADDRESSES }, (_, index) => `p${index}-${newId()}@example.com`);
    for (const email of emails.slice(0, PEOPLE))
      await audience.subscribe(scope, email, topics[0]!, topics[1]!);
    return { scope, topics, emails };
  }

  const idOf = async (email: string): Promise<string> =>
    (
      await audience.test.query<{ id: string }>('select id from audience.subscribers where email_key = $1', [
        email,
      ])
    )[0]?.id ?? newId();
  const confirmationOf = async (subscriberId: string, turn: number): Promise<string> => {
    const rows = await audience.test.query<{ id: string }>(
      'select id from audience.confirmations where subscriber_id = $1 order by created_at desc, id desc',
      [subscriberId],
    );
    return rows[turn % Math.max(1, rows.length)]?.id ?? newId();
  };

  async function perform(
    { scope, topics, emails }: World,
    { kind, person, topic, reason }: Operation,
  ): Promise<unknown> {
    const email = emails[person]!;
    const { topicKey, id: topicId } = topics[topic]!;
    const reader = { ipAddress: '203.0.113.9', userAgent: null };
    const subscriberId = await idOf(email);
    const consents = audience.get(ConsentsService);
    const preferences = audience.get(PreferencesService);
    const leaving = audience.get(UnsubscribeService);
    switch (kind) {
      case 'grant':
        return consents.grant(scope, address(email), topicKey, PROOF);
      case 'revoke':
        return consents.revoke(scope, address(email), topicKey, PROOF);
      case 'resend':
        return audience.get(ConfirmationsService).resend(scope, address(email), topicKey, PROOF);
      case 'join':
        return preferences.join(scope, subscriberId, topicKey, PROOF);
      case 'leave':
        return leaving.leave(scope, subscriberId, topicKey, PROOF);
      case 'leaveEverything':
        return leaving.leaveEverything(scope, subscriberId, PROOF);
      case 'oneClick':
        return leaving.leaveTopics(
          scope,
          subscriberId,
          [topicId],
          consentProof('ONE_CLICK', newId(), reader),
        );
      case 'undo': {
        const id = await leaving.undoOf(scope, subscriberId, PROOF.actorId ?? '');
        return leaving.undo(scope, subscriberId, id ?? newId(), { ...PROOF, source: 'undo' });
      }
      case 'suppress':
        return audience.get(SuppressionsService).suppress(scope, address(email), reason, PROOF);
      case 'lift':
        return audience.get(SuppressionsService).lift(scope, address(email));
      case 'confirm':
        return new ConfirmationPages(audience).confirm(
          scope,
          await confirmationOf(subscriberId, topic),
          reader,
        );
      case 'askAgain':
        return new ConfirmationPages(audience).requestAnother(
          scope,
          await confirmationOf(subscriberId, topic),
        );
      case 'expire':
        return audience.get(ConfirmationsService).expire();
      case 'erase':
        return audience.get(PersonalDataService).erase(scope, address(email), consentProof('OPERATOR', null));
      case 'create':
        return audience.subscribe(scope, email, topics[topic]!);
      case 'move':
      case 'moveWithProof': {
        const to = address(emails[(person + 1 + topic) % emails.length]!);
        const known = { source: 'account-page', confirmedAt: audience.clock.now() };
        const emailConfirmed = kind === 'move' ? null : known;
        const wanted = { address: to, emailConfirmed, patch: { firstName: kind } };
        return audience.get(AddressChangesService).change(scope, address(email), wanted, PROOF);
      }
    }
  }

  /** Performs them, some at a time. What the domain refuses is refused; anything else is a fault. */
  async function performAll(place: World, operations: readonly Operation[]): Promise<void> {
    for (let first = 0; first < operations.length; first += AT_ONCE) {
      const running = operations.slice(first, first + AT_ONCE).map((next) => {
        audience.clock.advance(next.waitMs);
        return perform(place, next);
      });
      for (const outcome of await Promise.allSettled(running)) {
        if (outcome.status === 'rejected' && !(outcome.reason instanceof DomainError)) throw outcome.reason;
      }
    }
  }

  const ledgerOf = ({ environmentId }: ProjectScope) =>
    audience.test.query<LedgerRow>(
      `select subscriber_id, topic_id, from_status, to_status, occurred_at, source, address_change is not null as is_move from audience.consent_ledger
       where environment_id = $1 order by position`,
      [environmentId],
    );

  /** Replays the record: each consent as it is by now. */
  function replay(rows: readonly LedgerRow[]) {
    const consents = new Map<string, Explained>();
    const beforeRevocation = new Map<string, Explained | undefined>();
    const latest = new Map<string, Date>();
    for (const row of rows) {
      const key = `${row.subscriber_id}/${row.topic_id}`;
      const before = consents.get(key);
      expect(row.from_status).toBe(before?.status ?? null);
      if (!row.is_move) expect(row.to_status).not.toBe(row.from_status);
      expect(row.occurred_at.getTime()).toBeGreaterThanOrEqual(latest.get(row.subscriber_id)?.getTime() ?? 0);
      latest.set(row.subscriber_id, row.occurred_at);
      const status = row.to_status;
      // The consent passed to another address as it is.
      if (status === row.from_status) continue;
      const undone = row.source === 'undo' ? beforeRevocation.get(key) : undefined;
      if (undone !== undefined) {
        consents.set(key, undone);
        continue;
      }
      if (status === 'UNSUBSCRIBED') beforeRevocation.set(key, before);
      const isSubscribed = status === 'SUBSCRIBED';
      const kept = isSubscribed ? null : (before?.revokedAt ?? null);
      const left = row.source === 'unsubscribed-before-erasure' ? 'earlier' : row.occurred_at;
      const revokedAt = status === 'UNSUBSCRIBED' ? left : kept;
      consents.set(key, { status, revokedAt, subscribedAt: isSubscribed ? row.occurred_at : null });
    }
    return consents;
  }

  async function expectExplained({ scope }: World): Promise<void> {
    const explained = replay(await ledgerOf(scope));
    const standing = await audience.test.query<{
      key: string;
      status: string;
      revoked_at: Date | null;
      subscribed_at: Date | null;
    }>(
      `select subscriber_id || '/' || topic_id as key, status, revoked_at, subscribed_at
       from audience.consents where environment_id = $1`,
      [scope.environmentId],
    );
    for (const { key, status, revoked_at, subscribed_at } of standing) {
      const said = explained.get(key);
      const revokedAt = said?.revokedAt === 'earlier' ? 'earlier' : revoked_at;
      expect(said).toEqual({ status, revokedAt, subscribedAt: subscribed_at });
      explained.delete(key);
    }
    // Consents that are gone, with their topic or their person, ended before.
    for (const { status } of explained.values()) expect(['UNSUBSCRIBED', 'EXPIRED']).toContain(status);
    const people = await audience.test.query<{
      status: string;
      reason: SuppressionReason | null;
      consents: ConsentStatus[];
    }>(
      `select b.status, s.reason, array(select c.status from audience.consents c where c.subscriber_id = b.id) as consents
       from audience.subscribers b left join audience.suppressions s using (environment_id, email_key)
       where b.environment_id = $1`,
      [scope.environmentId],
    );
    for (const { status, reason, consents } of people) {
      expect(status).toBe(subscriberStatus(reason, consents));
      if (reason !== 'GLOBAL_UNSUBSCRIBE') continue;
      for (const consent of consents) expect(['UNSUBSCRIBED', 'EXPIRED']).toContain(consent);
    }
  }

  it('end in a state that the consent record explains, change by change', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 30, maxLength: 60 }), async (operations) => {
        const place = await world();
        await performAll(place, operations);
        await expectExplained(place);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it('are not left behind by a topic that is deleted meanwhile', async () => {
    const place = await world();
    const [topic] = place.topics;
    const people = Array.from({ length: 12 }, (_, index) => `late-${index}@example.com`);
    const outcomes = await Promise.allSettled([
      ...people.slice(0, 6).map((email) => audience.subscribe(place.scope, email, topic!)),
      audience.get(TopicsService).delete(place.scope, topic!.topicKey, null),
      ...people.slice(6).map((email) => audience.subscribe(place.scope, email, topic!)),
      ...place.emails.map((email) => perform(place, { ...GRANT_ANEW, person: place.emails.indexOf(email) })),
    ]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(DomainError);
    const left = await audience.test.query('select 1 from audience.consents where topic_id = $1', [
      topic!.id,
    ]);
    expect(left).toEqual([]);
    await expectExplained(place);
  });
});

const GRANT_ANEW = { kind: 'grant', topic: 0, reason: 'HARD_BOUNCE', waitMs: 0 } as const;
