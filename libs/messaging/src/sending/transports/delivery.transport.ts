import type { SendOutcome } from '#platform';
import type { OutgoingMail } from '../../deliveries/delivery.js';

/** Where mails go: a relay by SMTP, or a project's test inbox. */
export interface DeliveryTransport {
  /** How many may be on their way at once. */
  readonly capacity: number;
  /** Never throws: what went wrong is in the outcome. */
  deliver(mail: OutgoingMail): Promise<SendOutcome>;
  close(): Promise<void>;
}
