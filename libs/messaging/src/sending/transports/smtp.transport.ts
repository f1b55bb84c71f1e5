import type { MailTransport, SendOutcome } from '#platform';
import type { NextMail, OutgoingMail } from '../../deliveries/delivery.js';
import type { DeliveryTransport } from './delivery.transport.js';

/** Hands live mail to the next hop. */
export class SmtpDelivery implements DeliveryTransport {
  constructor(private readonly transport: MailTransport) {}

  get capacity(): number {
    return this.transport.capacity;
  }

  deliver(mail: OutgoingMail, next: NextMail): Promise<SendOutcome> {
    return this.transport.send(mail, next);
  }

  close(): Promise<void> {
    return this.transport.close();
  }
}
