import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { EmailQuotaService } from '#billing';
import {
  Clock,
  DomainValidationError,
  InvalidStateError,
  isUuid,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { before, type Config, CONFIG, Database, drainEnvironments, Periodic, removeOldRows } from '#platform';
import { wakeSenders } from '../deliveries/delivery-queue.query.js';
import { type MessageView, timeFaults } from './message.js';
import { forgetAttachments } from './message-attachments.service.js';
import { MESSAGE_COLUMNS, messageViewOf } from './messages.query.js';

const DAY_MS = 86_400_000;
/** Content is kept so long after a message has ended. */
const KEPT_MS = 30 * DAY_MS;
const FORGOTTEN_AT_ONCE = 1_000;

interface WaitingMessage extends MessageView {
  /** The period whose e-mails are reserved for it; null where they are not counted. */
  readonly usagePeriod: Date | null;
}

/** Changes messages while they wait, and forgets old ones. */
@Injectable()
export class MessagesService {
  constructor(
    private readonly database: Database,
    private readonly quota: EmailQuotaService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Prevents a message's mails, unless a sender has claimed one, and gives them back to the plan. Throws NotFoundError, InvalidStateError. */
  cancel(scope: ProjectScope, id: string): Promise<MessageView> {
    return this.#whileWaiting(scope, id, 'cancelled', async ({ usagePeriod }, now) => {
      const { numAffectedRows = 0n } = await sql`
        update messaging.deliveries set state = 'CANCELLED', finished_at = ${now}
        where environment_id = ${scope.environmentId} and source_id = ${id} and kind = 'MESSAGE'
      `.execute(this.database.tables());
      const released = Number(numAffectedRows);
      if (usagePeriod !== null) await this.quota.settle(scope, usagePeriod, { used: 0, released });
      await forgetAttachments(scope, sql`message_id = ${id}`).execute(this.database.tables());
      await sql`
        insert into messaging.message_events (environment_id, message_id, occurred_at, id, type)
        values (${scope.environmentId}, ${id}, ${now}, ${newId()}, 'CANCELLED')
      `.execute(this.database.tables());
      return sql`status = 'CANCELLED', finished_at = ${now}, sealed_content = null, attachments_key = null`;
    });
  }

  /** Has a message's mails sent at another time, unless a sender has claimed one. Throws as `cancel`, and DomainValidationError. */
  reschedule(scope: ProjectScope, id: string, scheduledAt: Date): Promise<MessageView> {
    return this.#whileWaiting(scope, id, 'rescheduled', async ({ expiresAt }, now) => {
      const faults = timeFaults({ scheduledAt, expiresAt }, now);
      if ('expiresAt' in faults) faults['scheduledAt'] = 'must be before expiresAt';
      delete faults['expiresAt'];
      if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
      await sql`
        update messaging.deliveries set next_attempt_at = ${scheduledAt}, due_since = ${scheduledAt}
        where environment_id = ${scope.environmentId} and source_id = ${id} and kind = 'MESSAGE'
      `.execute(this.database.tables());
      wakeSenders(this.database);
      return sql`status = 'SCHEDULED', scheduled_at = ${scheduledAt}`;
    });
  }

  /** Removes the content of messages that ended 30 days ago, and messages whose mails are kept no longer. */
  @Periodic('forget-messages', { everyMs: 10 * 60_000 })
  async forget(): Promise<void> {
    const now = this.clock.now();
    const isOld = sql`content is not null and finished_at < ${before(now, KEPT_MS)}`;
    await drainEnvironments(
      this.database,
      { rows: sql`messaging.messages where ${isOld}`, batch: FORGOTTEN_AT_ONCE },
      async (environmentId, most) => {
        const { numAffectedRows = 0n } = await sql`
          update messaging.messages set content = null where environment_id = ${environmentId} and id = any(array(
            select id from messaging.messages where environment_id = ${environmentId} and ${isOld} limit ${most}
          ))
        `.execute(this.database.tables());
        return Number(numAffectedRows);
      },
    );
    const { RETENTION_DELIVERIES_DAYS: days, RETENTION_EVENTS_DAYS: eventDays } = this.config;
    const ofEvents = Math.min(days ?? Number.POSITIVE_INFINITY, eventDays ?? Number.POSITIVE_INFINITY);
    if (Number.isFinite(ofEvents))
      await removeOldRows(this.database, {
        table: 'messaging.message_events',
        where: sql`occurred_at < ${before(now, ofEvents * DAY_MS)}`,
      });
    if (days === undefined) return;
    const where = sql`created_at < ${before(now, days * DAY_MS)}`;
    await removeOldRows(this.database, {
      table: 'messaging.link_sets',
      where: sql`message_id is not null and ${where}`,
    });
    for (const part of ['message_tags', 'message_copies', 'message_attachments', 'messages'])
      await removeOldRows(this.database, { table: `messaging.${part}`, where });
  }

  /** Changes a message none of whose mails anybody has begun to send; `change` gives the assignments to its row. */
  #whileWaiting(
    scope: ProjectScope,
    id: string,
    done: string,
    change: (message: WaitingMessage, now: Date) => Promise<RawBuilder<unknown>>,
  ): Promise<MessageView> {
    if (!isUuid(id)) throw new NotFoundError();
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables();
      const now = this.clock.now();
      // A claim skips what is locked, and this waits for a claim.
      const mails = await sql<{ state: string }>`
        select state from messaging.deliveries where environment_id = ${scope.environmentId} and source_id = ${id} and kind = 'MESSAGE'
        order by id for update
      `.execute(tables);
      const { rows } = await sql<WaitingMessage>`
        select ${MESSAGE_COLUMNS}, m.usage_period from messaging.messages m
        where m.environment_id = ${scope.environmentId} and m.id = ${id} for update
      `.execute(tables);
      if (rows[0] === undefined) throw new NotFoundError();
      const message = messageViewOf(rows[0], now);
      if (mails.rows.length === 0 || mails.rows.some(({ state }) => state !== 'PENDING'))
        throw new InvalidStateError(
          `The message is ${message.status === 'QUEUED' ? 'being sent' : message.status}, and cannot be ${done}.`,
          message.status,
          ['SCHEDULED', 'QUEUED'],
        );
      const changes = await change(message, now);
      await sql`
        update messaging.messages m set ${changes}, updated_at = ${now}
        where m.environment_id = ${scope.environmentId} and m.id = ${id}
      `.execute(tables);
      // On a cluster an UPDATE returns nothing that is computed.
      const changed = await sql<MessageView>`
        select ${MESSAGE_COLUMNS} from messaging.messages m where m.environment_id = ${scope.environmentId} and m.id = ${id}
      `.execute(tables);
      return messageViewOf(changed.rows[0]!, now);
    });
  }
}
