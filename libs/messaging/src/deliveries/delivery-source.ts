import type { ProjectScope } from '#kernel';
import type { ClaimedDelivery, OutgoingMail } from './delivery.js';
import type { AmbiguousPolicy } from '../campaigns/campaign-draft.js';
import type { DeliveryOutcome } from './delivery-outcome.js';
import type { Lease } from './lease.js';

/** A claimed delivery with what its sender must know beside it. */
export interface DeliveryWork {
  readonly scope: ProjectScope;
  readonly delivery: ClaimedDelivery;
  readonly ambiguousPolicy: AmbiguousPolicy;
  readonly usagePeriod: Date | null;
}

/** Ready for the wire, or decided without one. */
export type PreparedDelivery = DeliveryWork &
  ({ readonly mail: OutgoingMail } | { readonly outcome: DeliveryOutcome });

/** One kind of work for a lane. */
export interface DeliverySource {
  /** The next due deliveries, leased; none when there is nothing to do now. */
  claim(limit: number, lease: Lease, now: Date): Promise<DeliveryWork[]>;
  /** Looks once more whether each may be sent, and composes its mail. Keeps the order. */
  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]>;
}

/** Makes the mails of one kind of deliveries. */
export interface SinglesPreparation {
  /** One for each, in the same order. */
  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]>;
}
