import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { before, Database, ListOrder, pagesOf, Periodic, removeOldRows } from '#platform';
import { WEBHOOKS_CHANNEL } from './webhook-publisher.service.js';
import type { WebhookTables } from './webhook-tables.js';

/** The delivery of one event to one endpoint. */
export interface WebhookLogRow {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly endpointId: string;
  readonly state: 'PENDING' | 'DELIVERED' | 'FAILED';
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly createdAt: Date;
  /** Null when it has ended. */
  readonly nextAttemptAt: Date | null;
}

/** Deliveries to be posted once more: one, or those of an endpoint since a moment. */
export type Replay =
  | { readonly deliveryId: string }
  | { readonly endpointId: string; readonly since: Date; readonly state: 'FAILED' | 'ALL' };

/** An event about a person, as it was published. */
export interface WebhookEvent {
  readonly id: string;
  readonly type: string;
  readonly occurredAt: Date;
  readonly data: unknown;
}

const KEPT_MS = 30 * 86_400_000;

const PAGE = 500;
const OLDEST_FIRST = new ListOrder(
  [
    ['occurred_at', 'timestamptz'],
    ['id', 'uuid'],
  ],
  'asc',
);

/** Published events and their deliveries: lists, replays and erases them. */
@Injectable()
export class WebhookLogService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Lists the newest `limit` deliveries of an endpoint. */
  async newest(scope: ProjectScope, endpointId: string, limit: number): Promise<WebhookLogRow[]> {
    return this.database.transaction(scope, async () => {
      const rows = await this.database
        .tables<WebhookTables>()
        .selectFrom('webhooks.deliveries as d')
        .innerJoin('webhooks.events as e', (join) =>
          join.onRef('e.id', '=', 'd.eventId').onRef('e.environmentId', '=', 'd.environmentId'),
        )
        .select(['d.id', 'd.eventId', 'e.type', 'd.endpointId', 'd.state', 'd.attempts'])
        .select(['d.lastStatus', 'd.lastError', 'd.createdAt', 'd.nextAttemptAt', 'd.finishedAt'])
        .where('d.endpointId', '=', endpointId)
        .where('d.environmentId', '=', scope.environmentId)
        .orderBy('d.createdAt', 'desc')
        .orderBy('d.id', 'desc')
        .limit(limit)
        .execute();
      return rows.map(({ finishedAt, nextAttemptAt, ...row }) => ({
        ...row,
        nextAttemptAt: finishedAt === null ? nextAttemptAt : null,
      }));
    });
  }

  /** Delivers again from the first attempt on, to enabled endpoints. Returns how many. */
  async replay(scope: ProjectScope, which: Replay): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { count } = await this.database
        .tables<WebhookTables>()
        .with('replayed', (tables) =>
          tables
            .insertInto('webhooks.deliveries')
            .columns(['id', 'environmentId', 'endpointId', 'eventId', 'nextAttemptAt', 'createdAt'])
            .expression(this.#ended(scope, which))
            .returning('id'),
        )
        .selectFrom('replayed')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      this.database.notify(WEBHOOKS_CHANNEL);
      return count;
    });
  }

  /** The ended deliveries, as new ones. */
  #ended(scope: ProjectScope, which: Replay) {
    const now = this.clock.now();
    const ended = this.database
      .tables<WebhookTables>()
      .selectFrom('webhooks.deliveries as d')
      .innerJoin('webhooks.endpoints as p', (join) =>
        join.onRef('p.id', '=', 'd.endpointId').onRef('p.environmentId', '=', 'd.environmentId'),
      )
      .select((eb) => [
        eb.fn<string>('platform.new_id').as('id'),
        'd.environmentId',
        'd.endpointId',
        'd.eventId',
        eb.val(now).as('nextAttemptAt'),
        eb.val(now).as('createdAt'),
      ])
      .where('d.environmentId', '=', scope.environmentId)
      .where('p.status', '=', 'ENABLED')
      .where('d.finishedAt', 'is not', null);
    if ('deliveryId' in which) return ended.where('d.id', '=', which.deliveryId);
    const ofOne = ended.where('d.endpointId', '=', which.endpointId).where('d.createdAt', '>=', which.since);
    return which.state === 'ALL' ? ofOne : ofOne.where('d.state', '=', 'FAILED');
  }

  /** The events about a person, oldest first, in pages that are read when they are asked for. */
  eventsAbout(scope: ProjectScope, person: PersonOfEvents): AsyncGenerator<readonly WebhookEvent[]> {
    const rows = sql<WebhookEvent>`
      select id, type, occurred_at, data from webhooks.events e where ${isAbout(scope, person)}
    `;
    return pagesOf(this.database, scope, { rows, order: OLDEST_FIRST, size: PAGE });
  }

  /** Removes a person's data from events, delivered or pending; only the subscriber's id stays, or the message's. */
  async erase(scope: ProjectScope, person: PersonOfEvents): Promise<void> {
    const { environmentId } = scope;
    await this.database.transaction(scope, async () => {
      const tables = this.database.tables<WebhookTables>();
      const { rows } = await sql<{ id: string }>`
        update webhooks.events e set data = case when e.subscriber_id is null
          then jsonb_set('{}', '{messageId}', e.data -> 'messageId') else ('{"subscriberId":"' || e.subscriber_id::text || '"}')::jsonb end
        where ${isAbout(scope, person)} returning e.id
      `.execute(tables);
      // A receiver's answer may repeat the data.
      const deliveries = tables
        .selectFrom('webhooks.deliveries as d')
        .select('d.id')
        .where('d.environmentId', '=', environmentId)
        .where((eb) => eb('d.eventId', '=', eb.fn.any(eb.val(rows.map(({ id }) => id)))));
      await tables
        .updateTable('webhooks.deliveries')
        .set({ lastError: 'erased' })
        .where('environmentId', '=', environmentId)
        .where('lastError', 'is not', null)
        .where('id', 'in', deliveries)
        .execute();
      await tables
        .updateTable('webhooks.attempts')
        .set({ error: 'erased' })
        .where('environmentId', '=', environmentId)
        .where('error', 'is not', null)
        .where('deliveryId', 'in', deliveries)
        .execute();
    });
  }

  /** Removes events that are older than 30 days, with their deliveries and log. */
  @Periodic('trim-webhook-events', { everyMs: 3_600_000 })
  trim(): Promise<void> {
    const where = sql`occurred_at < ${before(this.clock.now(), KEPT_MS)}`;
    return removeOldRows(this.database, { table: 'webhooks.events', where });
  }
}

/** A person whom events are about. */
export interface PersonOfEvents {
  readonly subscriberId: string | null;
  /** Messages to the person, who may have been no subscriber then. */
  readonly messageIds: readonly string[];
}

/** Condition that an event `e` is about a person. */
const isAbout = ({ environmentId }: ProjectScope, { subscriberId, messageIds }: PersonOfEvents) => sql`
  e.environment_id = ${environmentId} and (
    e.subscriber_id = ${subscriberId}::uuid or (starts_with(e.type, 'message.') and e.data ->> 'messageId' = any(${[...messageIds]}::text[]))
  )`;
