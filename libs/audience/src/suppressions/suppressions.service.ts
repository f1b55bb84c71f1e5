import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database, limitOf, ListOrder, Publisher, totalOf } from '#platform';
import { type ConsentProof, STATUS_OF_SUPPRESSED, type SuppressionReason } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { writingStatuses } from '../consents/subscriber-status.query.js';
import { UnsubscriptionRepository } from '../consents/unsubscription.repository.js';
import { type Counted, countedPage } from '../counted-page.js';
import { suppressionCount } from '../counters.query.js';
import type { SubscriberRef } from '../subscribers/subscriber.js';
import {
  type MailedAddress,
  type OwnedAddress,
  SubscriberRepository,
} from '../subscribers/subscriber.repository.js';
import {
  bars,
  type MailStream,
  STREAMS_OF_REASON,
  type SuppressedStreams,
  type SuppressionDetails,
} from './suppression.js';
import { SuppressionRepository } from './suppression.repository.js';

export interface SuppressionView {
  readonly email: string;
  readonly suppressed: boolean;
  readonly reason: SuppressionReason | null;
  /** The mail that is barred. */
  readonly streams: SuppressedStreams | null;
  readonly suppressedAt: Date | null;
}

export interface WantedSuppression {
  readonly address: Pick<EmailAddress, 'value' | 'key'>;
  readonly reason: SuppressionReason;
}

export interface SuppressionFilter {
  readonly reason?: SuppressionReason | undefined;
}

/** The failure of a mail that suppresses its address. A complaint bars at least the stream of the mail complained of. */
export interface FailureCause {
  readonly reason: 'HARD_BOUNCE' | 'SPAM_COMPLAINT';
  readonly streams: SuppressedStreams;
}

const LATEST_FIRST = new ListOrder([
  ['suppressed_at', 'timestamptz'],
  ['email_key', 'text'],
]);

/** The suppression list: adds addresses, removes them, shows them. */
@Injectable()
export class SuppressionsService {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionRepository,
    private readonly subscribers: SubscriberRepository,
    private readonly consents: ConsentRepository,
    private readonly unsubscriptions: UnsubscriptionRepository,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /**
   * Suppresses an address, a subscriber's or not, and returns the suppression that holds: the first reason and time win,
   * and what is barred only ever widens. GLOBAL_UNSUBSCRIBE also revokes all consents, even if another reason holds. Earlier unsubscriptions can no longer be undone.
   */
  suppress(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    by: ConsentProof,
  ): Promise<SuppressionDetails> {
    return this.subscribers.whileAddressLocked(scope, address.key, async (subscriberId) => {
      const cause = { reason, streams: STREAMS_OF_REASON[reason], by };
      const [suppression] = await this.#add(scope, [{ ...address, subscriberId }], cause);
      return suppression!;
    });
  }

  /**
   * Suppresses addresses as `suppress` does each, all in one transaction. Returns what holds for each in order, or why nothing was
   * done about it.
   */
  suppressEach(
    scope: ProjectScope,
    wanted: readonly WantedSuppression[],
    proofOf: (reason: SuppressionReason) => ConsentProof,
  ): Promise<readonly (SuppressionDetails | DomainValidationError)[]> {
    const firstOf = new Map(wanted.toReversed().map((one) => [one.address.key, one]));
    const mailed = [...firstOf.values()].map(({ address: { value, key } }) => ({
      value,
      key,
      subscriberId: null,
    }));
    return this.subscribers.whileAllLocked(scope, mailed, async (addresses) => {
      const added = new Map<string, SuppressionDetails>();
      const groups = Map.groupBy(addresses, ({ key }) => firstOf.get(key)!.reason);
      for (const [reason, ofReason] of groups) {
        const cause = { reason, streams: STREAMS_OF_REASON[reason], by: proofOf(reason) };
        const suppressions = await this.#add(scope, ofReason, cause);
        for (const [index, { key }] of ofReason.entries()) added.set(key, suppressions[index]!);
      }
      return wanted.map((one) =>
        firstOf.get(one.address.key) === one
          ? added.get(one.address.key)!
          : new DomainValidationError({ email: 'is named twice: the first one counts' }),
      );
    });
  }

  /**
   * Suppresses addresses that mail went to, whoever has them now, for a failure of that mail; none of people who were erased since.
   * Returns the ids of the subscribers who have them.
   */
  suppressAll(
    scope: ProjectScope,
    mailed: readonly MailedAddress[],
    cause: FailureCause,
  ): Promise<ReadonlySet<string>> {
    return this.subscribers.whileAllLocked(scope, mailed, async (addresses) => {
      if (addresses.length > 0) await this.#add(scope, addresses, cause);
      return new Set(addresses.flatMap(({ subscriberId }) => subscriberId ?? []));
    });
  }

  /** Suppresses the present address of a person, if there is one, for a failure of mail to an earlier one. */
  async suppressPerson(scope: ProjectScope, subscriberId: string, cause: FailureCause): Promise<void> {
    await this.subscribers.whileOwned(scope, subscriberId, ({ value, key }) =>
      this.#add(scope, [{ value, key, subscriberId }], cause),
    );
  }

  async #add(
    scope: ProjectScope,
    addresses: readonly OwnedAddress[],
    { reason, streams, by }: Pick<SuppressionDetails, 'reason' | 'streams'> & { readonly by?: ConsentProof },
  ): Promise<readonly SuppressionDetails[]> {
    const now = this.clock.now();
    const added = await this.suppressions.addAll(scope, addresses, { reason, streams }, now);
    // Names the person who had the address where nobody has it: an erasure finds the event by them.
    const events = added.flatMap(({ hasChanged, suppression: data }, index) => {
      const { subscriberId, mailedTo = null } = addresses[index]!;
      return hasChanged
        ? [{ type: 'suppression.added' as const, subscriberId: subscriberId ?? mailedTo, data }]
        : [];
    });
    await this.publisher.publish(scope, ...events);
    const subscriberIds = addresses.flatMap(({ subscriberId }) => subscriberId ?? []);
    if (subscriberIds.length > 0) {
      const statusOf = new Map(
        addresses.flatMap(({ subscriberId }, index) =>
          subscriberId === null
            ? []
            : [[subscriberId, STATUS_OF_SUPPRESSED[added[index]!.suppression.reason]] as const],
        ),
      );
      await this.database.together(
        this.unsubscriptions.closing(scope, subscriberIds),
        ...writingStatuses(scope, statusOf, now),
      );
      if (reason === 'GLOBAL_UNSUBSCRIBE' && by !== undefined)
        await this.consents.change(scope, { subscriberIds, action: 'revoke' }, by);
    }
    return added.map(({ suppression }) => suppression);
  }

  /** Removes an address, or that of a person, from the list, if it is there. Consents do not change. Throws NotFoundError. */
  async lift(scope: ProjectScope, ref: SubscriberRef): Promise<void> {
    const { key: emailKey } = await this.subscribers.addressNamed(scope, ref);
    return this.subscribers.whileAddressLocked(scope, emailKey, async (subscriberId) => {
      const wasThere = await this.suppressions.remove(scope, emailKey);
      if (!wasThere) return;
      const data = { email: emailKey };
      await this.publisher.publish(scope, { type: 'suppression.removed', subscriberId, data });
      if (subscriberId !== null) await this.consents.refreshStatuses(scope, [subscriberId], this.clock.now());
    });
  }

  /** The same, if it is the suppression that an unsubscription added at this moment. */
  async liftUnsubscribed(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    suppressedAt: Date,
  ): Promise<void> {
    const stored = await this.suppressions.find(scope, address.key);
    const isSame = stored?.suppressedAt.getTime() === suppressedAt.getTime();
    if (isSame && stored.reason === 'GLOBAL_UNSUBSCRIBE' && stored.streams === 'MARKETING')
      await this.lift(scope, address);
  }

  /** True when mail of the stream may not go to an address, erased or not. */
  async isSuppressed(
    scope: ProjectScope,
    emailKey: string,
    stream: MailStream = 'MARKETING',
  ): Promise<boolean> {
    const stored = await this.suppressions.find(scope, emailKey);
    return stored !== null && bars(stored.streams, stream);
  }

  /** The addresses, erased or not, to which mail of the stream may not go. */
  suppressedAmong(
    scope: ProjectScope,
    emailKeys: readonly string[],
    stream: MailStream,
  ): Promise<ReadonlySet<string>> {
    return this.suppressions.suppressedAmong(scope, emailKeys, stream);
  }

  /** SQL: mail of the stream may not go to the address of a column of address keys, erased or not; each is looked up. */
  isColumnSuppressed(
    scope: ProjectScope,
    emailKey: RawBuilder<unknown>,
    stream: MailStream,
  ): RawBuilder<boolean> {
    return this.suppressions.isSuppressed(scope, emailKey, stream, 'each');
  }

  /** The suppression of an address, erased or not, or of that of a person. Throws NotFoundError. */
  async of(scope: ProjectScope, ref: SubscriberRef): Promise<SuppressionView> {
    const address = await this.subscribers.addressNamed(scope, ref);
    const stored = await this.suppressions.find(scope, address.key);
    if (stored === null)
      return { email: address.value, suppressed: false, reason: null, streams: null, suppressedAt: null };
    return toView({ ...stored, email: stored.email ?? address.value });
  }

  /** Newest first, without erased addresses. */
  page(
    scope: ProjectScope,
    { reason }: SuppressionFilter,
    request: PageRequest,
  ): Promise<Page<SuppressionView>> {
    const matching = sql`from audience.suppressions where environment_id = ${scope.environmentId}
      ${reason === undefined ? sql`` : sql`and reason = ${reason}`}`;
    return this.database.read(scope, { isList: true }, async () => {
      const { rows } = await sql<Counted<SuppressionDetails>>`
        select n.total, s.email, s.reason, s.streams, s.suppressed_at, s.place
        from (select ${totalOf(request, suppressionCount(scope, reason))} as total) n
        left join (
          select s.*, k.place from (
            select email_key, ${LATEST_FIRST.place} as place ${matching} and ${LATEST_FIRST.isBehind(request)}
            order by ${LATEST_FIRST.by} ${limitOf(request)}
          ) k
          join audience.suppressions s on s.environment_id = ${scope.environmentId} and s.email_key = k.email_key
        ) s on true
        order by s.suppressed_at desc, s.email_key desc
      `.execute(this.database.tables());
      const { items, ...page } = countedPage(rows, request);
      return { ...page, items: items.map(toView) };
    });
  }
}

function toView({ email, reason, streams, suppressedAt }: SuppressionDetails): SuppressionView {
  return { email, suppressed: true, reason, streams, suppressedAt };
}
