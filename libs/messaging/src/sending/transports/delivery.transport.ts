import type { SendOutcome } from '#platform';
import type { NextMail, OutgoingMail } from '../../deliveries/delivery.js';

/** Where mails go: a relay by SMTP, or a project's test inbox. */
export interface DeliveryTransport {
  /** How many may be on their way at once. */
  readonly capacity: number;
  /** Never throws: what went wrong is in the outcome. `next` names the mail that is to follow: its envelope may leave with this one. */
  deliver(mail: OutgoingMail, next: NextMail): Promise<SendOutcome>;
  close(): Promise<void>;
}
