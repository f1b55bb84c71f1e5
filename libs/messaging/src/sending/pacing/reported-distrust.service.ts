import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { DestinationPace } from './destination-pace.service.js';

/** What a mail's destination says of us when the mail comes back after it was accepted by the relay. */
@Injectable()
export class ReportedDistrust {
  constructor(
    private readonly database: Database,
    private readonly destinations: DestinationPace,
    private readonly clock: Clock,
  ) {}

  /**
   * A report says that the mail was refused for our reputation: several such slow its destination down. One by a relay of the
   * project's own was refused for its provider's.
   */
  async reported(scope: ProjectScope, deliveryId: string): Promise<void> {
    const mail = await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.deliveries')
        .select('address')
        .where('id', '=', deliveryId)
        .where('environmentId', '=', scope.environmentId)
        .where('relayKey', 'is', null)
        .executeTakeFirst(),
    );
    // It may be gone, or its person erased, or the installation has no part in it.
    if (mail?.address.includes('@') !== true) return;
    await this.destinations.reported(scope, deliveryId, mail.address, this.clock.now());
  }
}
