import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliveriesTable, MessagingTables } from '../../messaging-tables.js';

/** A mail that a provider names by this id. */
export interface RelayedDelivery extends Pick<DeliveriesTable, 'address'> {
  readonly deliveryId: string;
  /** As the provider names it: without the brackets. */
  readonly messageId: string;
}

/** Our Message-ID: the delivery's id at the signing domain. */
const OWN_MESSAGE_ID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})@/i;

/** Finds mails by the ids that relays gave them in their replies, or by the Message-ID that we gave them ourselves. */
@Injectable()
export class RelayedDeliveries {
  constructor(private readonly database: Database) {}

  /** The newest first: an id of some relays comes again. */
  async find(
    { environmentId, ...scope }: ProjectScope,
    messageIds: readonly string[],
  ): Promise<RelayedDelivery[]> {
    const ownIds = messageIds.flatMap((messageId) => OWN_MESSAGE_ID.exec(messageId)?.[1] ?? []);
    const isNamed = new Set(messageIds);
    return this.database.transaction({ environmentId, ...scope }, async () => {
      const mails = this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.deliveries')
        .select(['id as deliveryId', 'address'])
        .where('environmentId', '=', environmentId)
        .orderBy('id', 'desc');
      const theirs = await mails
        .select((eb) => eb.ref('providerMessageId').$notNull().as('messageId'))
        .where((eb) => eb('providerMessageId', '=', eb.fn.any(eb.val([...messageIds]))))
        .execute();
      if (ownIds.length === 0) return theirs;
      const ours = await mails
        .select('messageId')
        .where((eb) => eb('id', '=', eb.fn.any(eb.val(ownIds))))
        .execute();
      const named = ours.map((mail) => ({ ...mail, messageId: mail.messageId.slice(1, -1) }));
      return [...theirs, ...named.filter(({ messageId }) => isNamed.has(messageId))];
    });
  }
}
