import { type Clock, newId, octetsOf, parseEmailAddress } from '#kernel';
import { type Database, describeError, type SendOutcome } from '#platform';
import { noteSimulation } from '../../mailbox-simulator/mailbox-simulations.query.js';
import type { MessagingTables } from '../../messaging-tables.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import type { DeliveryTransport } from './delivery.transport.js';

const CAPACITY = 10;
const KEPT = { code: 250, enhancedCode: null, text: 'kept in the test inbox' };

/** Keeps mail of the test environment as rows. A mail that is delivered again, after a crash, is kept once. */
export class TestInboxDelivery implements DeliveryTransport {
  readonly capacity = CAPACITY;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async deliver(mail: OutgoingMail): Promise<SendOutcome> {
    const parsed = parseEmailAddress(mail.to);
    const toKey = 'address' in parsed ? parsed.address.key : mail.to.toLowerCase();
    try {
      await this.database.system(async () => {
        const { environmentId, deliveryId, kind, subject, links, raw } = mail;
        const receivedAt = this.clock.now();
        const { numInsertedOrUpdatedRows } = await this.database
          .tables<MessagingTables>()
          .insertInto('messaging.test_inbox_messages')
          .values({
            id: newId(),
            environmentId,
            deliveryId,
            kind,
            toAddress: mail.to,
            toKey,
            fromAddress: mail.from,
            subject,
            links,
            raw: octetsOf(raw),
            receivedAt,
          })
          .onConflict((conflict) => conflict.columns(['deliveryId', 'environmentId']).doNothing())
          .executeTakeFirstOrThrow();
        if ((kind === 'CAMPAIGN' || kind === 'AUTOMATION') && numInsertedOrUpdatedRows === 1n)
          await noteSimulation(this.database, mail, receivedAt);
      });
      return { kind: 'accepted', reply: KEPT };
    } catch (error) {
      return { kind: 'route-unavailable', detail: describeError(error), stage: 'connect' };
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
