import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ProjectsQuery } from '#access';
import { ConfirmationsQuery } from '#audience';
import { Clock, newId, type ProjectScope } from '#kernel';
import { type Config, CONFIG, type Transaction } from '#platform';
import { senderIdentity } from '../campaigns/sender-identity.js';
import { wakeSenders } from './deliveries.channel.js';

/** Writes down that a confirmation mail is to be sent. */
@Injectable()
export class OptInDeliveriesService {
  constructor(
    @Inject(ConfirmationsQuery) private readonly confirmations: ConfirmationsQuery,
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** One delivery for the confirmation; none when there is nothing to confirm any more. */
  async add(scope: ProjectScope, tx: Transaction, confirmationId: string): Promise<void> {
    const confirmation = await this.confirmations.forMail(scope, confirmationId);
    const project = await this.projects.ofScope(scope);
    if (confirmation === null || project === null) return;
    const { domain } = senderIdentity('', project.defaultFromEmail, this.config.DEFAULT_FROM_EMAIL);
    const id = newId();
    const now = this.clock.now();
    await sql`
      insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
        address_key, message_id, state, next_attempt_at, created_at)
      values (${id}, (${now}::timestamptz at time zone 'UTC')::date, ${scope.environmentId}, 'OPT_IN', ${confirmationId},
        ${confirmation.subscriberId}, ${confirmation.email}, ${confirmation.emailKey}, ${`<${id}@${domain}>`},
        'PENDING', ${now}, ${now})
      on conflict do nothing
    `.execute(tx.db);
    await wakeSenders(tx.db);
  }
}
