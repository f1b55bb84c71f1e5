import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliveriesTable, MessagingTables } from '../../messaging-tables.js';

/** A mail to which a relay gave an id. */
export interface RelayedDelivery extends Pick<DeliveriesTable, 'address'> {
  readonly deliveryId: string;
  readonly messageId: string;
}

/** Finds mails by the ids that relays gave them in their replies. */
@Injectable()
export class RelayedDeliveries {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** The newest first: an id of some relays comes again. */
  async find(
    { environmentId, ...scope }: ProjectScope,
    messageIds: readonly string[],
  ): Promise<RelayedDelivery[]> {
    return this.database.transaction({ environmentId, ...scope }, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.deliveries')
        .select(['id as deliveryId', 'address'])
        .select((eb) => eb.ref('providerMessageId').$notNull().as('messageId'))
        .where('environmentId', '=', environmentId)
        .where((eb) => eb('providerMessageId', '=', eb.fn.any(eb.val([...messageIds]))))
        .orderBy('id', 'desc')
        .execute(),
    );
  }
}
