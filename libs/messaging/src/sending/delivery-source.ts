import type { DomainWarmUp, OwnRelay } from '#deliverability';
import type { ProjectScope } from '#kernel';
import type { ClaimedDelivery, OutgoingMail } from '../deliveries/delivery.js';
import type { AmbiguousPolicy } from '../campaigns/campaign.js';
import type { DeliveryOutcome } from './delivery-outcome.js';

/** A claimed delivery with what its sender must know beside it. */
export interface DeliveryWork {
  readonly scope: ProjectScope;
  readonly delivery: ClaimedDelivery;
  readonly ambiguousPolicy: AmbiguousPolicy;
  readonly usagePeriod: Date | null;
  /** The project's relay that it goes by; none where it goes by the installation's. */
  readonly relay?: OwnRelay;
  /** The day of a new domain's warm-up that it has a place on. */
  readonly warmUp?: DomainWarmUp;
  /** It is the one of its minute to a destination that is slowed down. */
  readonly slow?: boolean;
}

/** Ready for the wire, or decided without one. */
export type PreparedDelivery = DeliveryWork &
  ({ readonly mail: OutgoingMail } | { readonly outcome: DeliveryOutcome });

/** What may go now, and what must wait. */
export interface Admission {
  readonly going: readonly DeliveryWork[];
  readonly held: readonly PreparedDelivery[];
}

/** One kind of work for a sender. */
export interface DeliverySource {
  /** The next due deliveries, leased with this token; none when there is nothing to do now. */
  claim(limit: number, leaseToken: string): Promise<DeliveryWork[]>;
  /** Looks once more whether each may be sent, and composes its mail. */
  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]>;
}
