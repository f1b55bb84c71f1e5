import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ConfirmationsQuery } from '#audience';
import { Clock, newId, type ProjectScope } from '#kernel';
import type { Transaction } from '#platform';
import { Senders } from '../../campaigns/senders/senders.service.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';

/** Writes down that a confirmation mail is to be sent. */
@Injectable()
export class OptInDeliveriesService {
  constructor(
    @Inject(ConfirmationsQuery) private readonly confirmations: ConfirmationsQuery,
    @Inject(Senders) private readonly senders: Senders,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** One delivery for the confirmation; none when there is nothing to confirm any more. */
  async add(scope: ProjectScope, tx: Transaction, confirmationId: string): Promise<void> {
    const confirmation = await this.confirmations.forMail(scope, confirmationId);
    const from = await this.senders.of(scope);
    if (confirmation === null || from === null) return;
    const id = newId();
    const now = this.clock.now();
    await sql`
      insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
        address_key, message_id, state, next_attempt_at, created_at)
      values (${id}, (${now}::timestamptz at time zone 'UTC')::date, ${scope.environmentId}, 'OPT_IN', ${confirmationId},
        ${confirmation.subscriberId}, ${confirmation.email}, ${confirmation.emailKey}, ${`<${id}@${from.sender.messageIdDomain}>`},
        'PENDING', ${now}, ${now})
      on conflict do nothing
    `.execute(tx.db);
    await wakeSenders(tx.db);
  }
}
