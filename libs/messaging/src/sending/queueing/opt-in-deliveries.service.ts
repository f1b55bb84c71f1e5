import { Injectable } from '@nestjs/common';
import { ConfirmationsService } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Senders } from '../../campaigns/senders.service.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';
import { newDelivery } from '../../deliveries/new-delivery.js';
import type { MessagingTables } from '../../messaging-tables.js';

/** Queues confirmation mails. */
@Injectable()
export class OptInDeliveriesService {
  constructor(
    private readonly database: Database,
    private readonly confirmations: ConfirmationsService,
    private readonly senders: Senders,
    private readonly clock: Clock,
  ) {}

  /** One delivery for the confirmation; none when there is nothing to confirm any more. */
  async add(scope: ProjectScope, confirmationId: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      const confirmation = await this.confirmations.forMail(scope, confirmationId);
      const from = await this.senders.of(scope);
      if (confirmation === null || from === null) return;
      const { subscriberId, email, emailKey } = confirmation;
      await this.database
        .tables<MessagingTables>()
        .insertInto('messaging.deliveries')
        .values(
          newDelivery(scope, {
            kind: 'OPT_IN',
            sourceId: confirmationId,
            subscriberId,
            address: { value: email, key: emailKey },
            domain: from.sender.messageIdDomain,
            now: this.clock.now(),
          }),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      wakeSenders(this.database);
    });
  }
}
