import type { DomainWarmUp, OwnRelay } from '#deliverability';
import type { ProjectScope } from '#kernel';
import type { AmbiguousPolicy } from '../campaigns/campaign.js';
import type { ClaimedDelivery, OutgoingMail } from '../deliveries/delivery.js';
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

/** A delivery whose mail is ready for the wire. */
export type ReadyWork = DeliveryWork & { readonly mail: OutgoingMail };

/** A delivery that is decided: its mail was sent, or it gets none now. */
export type DecidedWork = DeliveryWork & { readonly outcome: DeliveryOutcome };

export type PreparedDelivery = ReadyWork | DecidedWork;

/** The mails that may go now, and those that must wait. */
export interface Admission {
  readonly going: readonly DeliveryWork[];
  readonly held: readonly PreparedDelivery[];
}

/** A mail for one person and the domain that it is from; or the reason why it is not sent. */
export type ComposedMail =
  | { readonly mail: OutgoingMail; readonly senderDomain: string }
  | { readonly skipped: string };

/** One kind of work for a sender. */
export interface DeliverySource {
  /** The next due deliveries, leased with this token; none when there is nothing to do now. */
  claim(limit: number, leaseToken: string): Promise<DeliveryWork[]>;
  /** Checks once more whether each may be sent, and composes its mail. `octetsAtHand`: of the sender's mails that are not sent yet. */
  prepare(works: readonly DeliveryWork[], octetsAtHand: number): Promise<PreparedDelivery[]>;
}
