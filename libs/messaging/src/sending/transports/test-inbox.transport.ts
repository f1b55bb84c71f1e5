import { sql } from 'kysely';
import { type Clock, newId, parseEmailAddress } from '#kernel';
import { type Database, describeError, type SendOutcome } from '#platform';
import { noteSimulation } from '../../mailbox-simulator/mailbox-simulations.query.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import type { DeliveryTransport } from './delivery.transport.js';

const CAPACITY = 10;

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
      await this.database.system(async ({ db }) => {
        const now = this.clock.now();
        const { numAffectedRows } = await sql`
          insert into messaging.test_inbox_messages
            (id, environment_id, delivery_id, kind, to_address, to_key, from_address, subject, links, raw, received_at)
          values (${newId()}, ${mail.environmentId}, ${mail.deliveryId}, ${mail.kind}, ${mail.to}, ${toKey}, ${mail.from},
            ${mail.subject}, ${JSON.stringify(mail.links)}::jsonb, ${mail.raw}, ${now})
          on conflict (delivery_id) do nothing
        `.execute(db);
        if ((mail.kind === 'CAMPAIGN' || mail.kind === 'AUTOMATION') && numAffectedRows === 1n)
          await noteSimulation(this.database, mail, now);
      });
      return { kind: 'accepted', response: '250 kept in the test inbox' };
    } catch (error) {
      return { kind: 'route-unavailable', detail: describeError(error), stage: 'connect' };
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
