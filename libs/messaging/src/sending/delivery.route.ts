import type { SendOutcome } from '#platform';
import type { NextMail, OutgoingMail } from '../deliveries/delivery.js';
import type { DeliveryOutcome } from './delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery } from './delivery-source.js';

export type ReadyWork = Extract<PreparedDelivery, { readonly mail: OutgoingMail }>;
export type DecidedWork = Extract<PreparedDelivery, { readonly outcome: DeliveryOutcome }>;

/** Claimed deliveries that have a way out, and those that are decided since they have none. */
export interface Assigned {
  readonly going: readonly DeliveryWork[];
  readonly decided: readonly DecidedWork[];
}

/** A sender's way out: the installation's relay, the test inbox, or a project's own relays. */
export interface DeliveryRoute {
  /** How many mails may be on their way at once. */
  readonly capacity: number;
  /** Nothing can leave: what is at hand is given back, and nothing is claimed. */
  readonly isPaused: boolean;
  /** How often the ways of mails at hand have changed: `isRecalled` changes with it. */
  readonly changes: number;
  /** How many deliveries to claim beside those at hand; none while there are enough. */
  toClaim(ready: readonly ReadyWork[], onWire: readonly DeliveryWork[]): number;
  /** Gives each claimed delivery its way, beside those at hand. */
  assign(works: readonly DeliveryWork[], atHand: readonly DeliveryWork[]): Assigned;
  /** Those of `ready` that may start while so many of this sender's are on their way. */
  startable(ready: readonly ReadyWork[], onWire: number): readonly ReadyWork[];
  /** These are about to start. */
  starting(works: readonly ReadyWork[]): void;
  /** Whether a mail was made for a way that is no more. */
  isRecalled(work: DeliveryWork): boolean;
  /** Hands a mail over. Never throws: what went wrong is in the result. `next`: see DeliveryTransport. */
  deliver(work: ReadyWork, next: NextMail): Promise<DeliveredResult>;
}

/** How handing over ended, and what follows of it for the delivery. */
export interface DeliveredResult {
  readonly result: SendOutcome;
  readonly changes?: Partial<DeliveryOutcome>;
}
