import type { SendOutcome } from '#platform';
import type { NextMail, OutgoingMail } from '../deliveries/delivery.js';
import type { DeliveryOutcome } from './delivery-outcome.js';
import type { DecidedWork, DeliveryWork, ReadyWork } from './delivery-work.js';

/** Claimed deliveries that have a way out, and those that are decided since they have none. */
export interface Assigned {
  readonly going: readonly DeliveryWork[];
  readonly decided: readonly DecidedWork[];
}

/** A sender's way out: the installation's relay, the test inbox, or a project's own relays. */
export interface DeliveryRoute {
  /** The most mails that may be on their way at once. */
  readonly capacity: number;
  /** Nothing can leave: what is at hand is given back, and nothing is claimed. */
  readonly isPaused: boolean;
  /** Changes of ways of mails at hand so far: `isRecalled` changes with it. */
  readonly changes: number;
  /** The number of deliveries to claim beside those at hand; none while there are enough. */
  toClaim(ready: readonly ReadyWork[], onWire: readonly DeliveryWork[]): number;
  /** Gives each claimed delivery its way, beside those at hand. */
  assign(works: readonly DeliveryWork[], atHand: readonly DeliveryWork[]): Assigned;
  /** The part of `ready` that may start while so many of this sender's are on their way. */
  startable(ready: readonly ReadyWork[], onWire: number): readonly ReadyWork[];
  /** These are about to start. */
  starting(works: readonly ReadyWork[]): void;
  /** True for a mail that was made for a way that is no more. */
  isRecalled(work: DeliveryWork): boolean;
  /** Hands a mail over. Never throws: failures are in the result. `next`: see DeliveryTransport. */
  deliver(work: ReadyWork, next: NextMail): Promise<DeliveredResult>;
}

/** A place that mails go to: a relay by SMTP, or a project's test inbox. */
export interface DeliveryTransport {
  /** The most mails that may be on their way at once. */
  readonly capacity: number;
  /** Never throws: failures are in the outcome. `next` names the mail that is to follow: its envelope may leave with this one. */
  send(mail: OutgoingMail, next: NextMail): Promise<SendOutcome>;
  close(): Promise<void>;
}

/** The result of handing over, and changes to the delivery's outcome that follow. */
export interface DeliveredResult {
  readonly result: SendOutcome;
  readonly changes?: Partial<DeliveryOutcome>;
}
