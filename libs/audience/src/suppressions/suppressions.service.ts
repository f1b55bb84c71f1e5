import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type EmailAddress, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, limitOf, ListOrder, Publisher, totalOf } from '#platform';
import type { ConsentProof, SuppressionReason } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { UnsubscriptionRepository } from '../consents/unsubscription.repository.js';
import { type Counted, countedPage } from '../counted-page.js';
import { suppressionCount } from '../counters.query.js';
import { type OwnedAddress, SubscriberRepository } from '../subscribers/subscriber.repository.js';
import type { SuppressionDetails } from './suppression.js';
import { SuppressionRepository } from './suppression.repository.js';

export interface SuppressionView {
  readonly email: string;
  readonly suppressed: boolean;
  readonly reason: SuppressionReason | null;
  readonly suppressedAt: Date | null;
}

export interface SuppressionFilter {
  readonly reason?: SuppressionReason | undefined;
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
   * Suppresses an address, a subscriber's or not, and returns the suppression that holds: the first reason and time win.
   * GLOBAL_UNSUBSCRIBE also revokes all consents, even if another reason holds. Earlier unsubscriptions can no longer be undone.
   */
  suppress(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    by: ConsentProof,
  ): Promise<SuppressionDetails> {
    return this.subscribers.whileAddressLocked(scope, address.key, async (subscriberId) => {
      const [suppression] = await this.#add(scope, [{ ...address, subscriberId }], reason, by);
      return suppression!;
    });
  }

  /** Suppresses addresses for another reason: of subscribers by their ids, who may be erased meanwhile, or given ones. */
  async suppressAll(
    scope: ProjectScope,
    owners: readonly (string | Pick<EmailAddress, 'value' | 'key'>)[],
    reason: Exclude<SuppressionReason, 'GLOBAL_UNSUBSCRIBE'>,
  ): Promise<void> {
    await this.subscribers.whileAllOwned(scope, owners, async (addresses) => {
      if (addresses.length > 0) await this.#add(scope, addresses, reason);
    });
  }

  async #add(
    scope: ProjectScope,
    addresses: readonly OwnedAddress[],
    reason: SuppressionReason,
    by?: ConsentProof,
  ): Promise<readonly SuppressionDetails[]> {
    const now = this.clock.now();
    const added = await this.suppressions.addAll(scope, addresses, reason, now);
    const events = added.flatMap(({ isNew, suppression: data }, index) =>
      isNew
        ? [{ type: 'suppression.added' as const, subscriberId: addresses[index]!.subscriberId, data }]
        : [],
    );
    await this.publisher.publish(scope, ...events);
    const subscriberIds = addresses.flatMap(({ subscriberId }) => subscriberId ?? []);
    if (subscriberIds.length > 0) {
      await this.unsubscriptions.close(scope, subscriberIds);
      if (reason === 'GLOBAL_UNSUBSCRIBE' && by !== undefined)
        await this.consents.change(scope, { subscriberIds, action: 'revoke' }, by);
      await this.consents.refreshStatuses(scope, subscriberIds, now);
    }
    return added.map(({ suppression }) => suppression);
  }

  /** Removes the address from the list, if it is there. Consents do not change. */
  lift(scope: ProjectScope, emailKey: string): Promise<void> {
    return this.subscribers.whileAddressLocked(scope, emailKey, async (subscriberId) => {
      const wasThere = await this.suppressions.remove(scope, emailKey);
      if (!wasThere) return;
      const data = { email: emailKey };
      await this.publisher.publish(scope, { type: 'suppression.removed', subscriberId, data });
      if (subscriberId !== null) await this.consents.refreshStatuses(scope, [subscriberId], this.clock.now());
    });
  }

  /** The same, if it is the suppression that an unsubscription added at this moment. */
  async liftUnsubscribed(scope: ProjectScope, emailKey: string, suppressedAt: Date): Promise<void> {
    const stored = await this.suppressions.find(scope, emailKey);
    const isSame = stored?.suppressedAt.getTime() === suppressedAt.getTime();
    if (isSame && stored.reason === 'GLOBAL_UNSUBSCRIBE') await this.lift(scope, emailKey);
  }

  async isSuppressed(scope: ProjectScope, emailKey: string): Promise<boolean> {
    return (await this.suppressions.find(scope, emailKey)) !== null;
  }

  /** The suppression of an address, erased or not. */
  async of(scope: ProjectScope, address: EmailAddress): Promise<SuppressionView> {
    const stored = await this.suppressions.find(scope, address.key);
    if (stored === null) return { email: address.value, suppressed: false, reason: null, suppressedAt: null };
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
        select n.total, s.email, s.reason, s.suppressed_at, s.place
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

function toView({ email, reason, suppressedAt }: SuppressionDetails): SuppressionView {
  return { email, suppressed: true, reason, suppressedAt };
}
