import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  Clock,
  InvalidStateError,
  isUuid,
  newId,
  NotFoundError,
  type Page,
  type PageRequest,
  pageOfRows,
  type Place,
  type ProjectScope,
  type PublishedEventType,
} from '#kernel';
import {
  before,
  Database,
  limitOf,
  ListOrder,
  pagesOf,
  Periodic,
  present,
  presentAnd,
  removeOldRows,
  totalOf,
} from '#platform';
import type { EndpointStatus } from './endpoint.js';
import { LEASE_MS } from './webhook-delivery.repository.js';
import { WEBHOOKS_CHANNEL } from './webhook-publisher.service.js';
import type { WebhookTables } from './webhook-tables.js';

export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'FAILED'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The delivery of one event to one endpoint. */
export interface WebhookDelivery {
  readonly id: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly event: PublishedEventType;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  /** Null when it has ended. */
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  /** Time of its last attempt or of its end. */
  readonly updatedAt: Date;
}

/** `from` is inclusive, `to` exclusive; both are of the delivery's creation. */
export interface DeliveryFilter {
  readonly event?: PublishedEventType | undefined;
  readonly state?: DeliveryState | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** Ended deliveries since a moment to be made once more. */
export interface Replay {
  readonly since: Date;
  readonly state: 'FAILED' | 'ALL';
}

/** An event about a person, as it was published. */
export interface WebhookEvent {
  readonly id: string;
  readonly type: string;
  readonly occurredAt: Date;
  readonly data: unknown;
}

/** Deliveries that one replay makes. */
const MOST_REPLAYED = 10_000;

const KEPT_MS = 30 * 86_400_000;

const PAGE = 500;
const NEWEST_DELIVERY_FIRST = new ListOrder([
  ['d.created_at', 'timestamptz'],
  ['d.id', 'uuid'],
]);
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

  /** The deliveries of an endpoint, newest first. Throws NotFoundError. */
  async deliveries(
    scope: ProjectScope,
    endpointId: string,
    request: PageRequest,
    filter: DeliveryFilter = {},
  ): Promise<Page<WebhookDelivery>> {
    const { environmentId } = scope;
    const found = matching(scope, endpointId, filter);
    return this.database.read(scope, { isList: true }, async () => {
      await this.#refuseUnknown(scope, endpointId);
      const { rows } = await sql<WebhookDelivery & { readonly place: Place }>`
        with page as materialized (
          select d.*, ${NEWEST_DELIVERY_FIRST.place} as place from ${found} and ${NEWEST_DELIVERY_FIRST.isBehind(request)}
          order by ${NEWEST_DELIVERY_FIRST.by} ${limitOf(request)}
        )
        select ${deliveryColumns(environmentId)}, d.place from page d order by d.created_at desc, d.id desc
      `.execute(this.database.tables());
      const counted = await sql<{ total: number }>`
        select ${totalOf(request, sql`(select count(*) from ${found})`)} as total
      `.execute(this.database.tables());
      return pageOfRows<WebhookDelivery>(rows, request, counted.rows[0]!.total);
    });
  }

  /**
   * Tells an event to its endpoint once more, at once: by the delivery of the event that still waits for its next attempt, or by
   * a new one. Twice is once as long as that one has not ended. Without `endpointId` that of any endpoint of the environment.
   * Throws NotFoundError, InvalidStateError.
   */
  async replayOne(scope: ProjectScope, deliveryId: string, endpointId?: string): Promise<WebhookDelivery> {
    const { environmentId } = scope;
    if (!isUuid(deliveryId)) throw new NotFoundError();
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables<WebhookTables>();
      const delivery = await tables
        .selectFrom('webhooks.deliveries')
        .select(['endpointId', 'eventId', 'eventType'])
        .where('environmentId', '=', environmentId)
        .where('id', '=', deliveryId)
        .executeTakeFirst();
      if (delivery === undefined || delivery.endpointId !== (endpointId ?? delivery.endpointId))
        throw new NotFoundError();
      await this.#lockEnabled(scope, delivery.endpointId);
      const { rows: pending } = await sql<{ id: string }>`
        select d.id from webhooks.deliveries d
        where d.environment_id = ${environmentId} and d.endpoint_id = ${delivery.endpointId}
          and d.event_id = ${delivery.eventId} and d.state = 'PENDING' for no key update
      `.execute(tables);
      const id = pending[0]?.id ?? (await this.#add(scope, delivery));
      // One that is leased is being posted just now.
      await sql`
        update webhooks.deliveries set next_attempt_at = ${present}
        where environment_id = ${environmentId} and id = ${id} and next_attempt_at > ${presentAnd(LEASE_MS)}
      `.execute(tables);
      this.database.notify(WEBHOOKS_CHANNEL);
      const { rows } = await sql<WebhookDelivery>`
        select ${deliveryColumns(environmentId)} from webhooks.deliveries d where d.environment_id = ${environmentId} and d.id = ${id}
      `.execute(tables);
      return rows[0]!;
    });
  }

  /**
   * Tells an endpoint once more the events that it never took (`FAILED`), or all (`ALL`), of deliveries since a moment: each event
   * once, and none that still waits, so that twice is once. The oldest first, at most 10 000 at once; `hasMore` says that some
   * may be left. Throws NotFoundError, InvalidStateError.
   */
  async replay(
    scope: ProjectScope,
    endpointId: string,
    { since, state }: Replay,
  ): Promise<{ replayed: number; hasMore: boolean }> {
    const { environmentId } = scope;
    const isOfState = state === 'ALL' ? sql`d.finished_at is not null` : sql`d.state = 'FAILED'`;
    const isSettled = state === 'ALL' ? sql`o.state = 'PENDING'` : sql`o.state in ('PENDING', 'DELIVERED')`;
    return this.database.transaction(scope, async () => {
      await this.#lockEnabled(scope, endpointId);
      const { rows } = await sql<{ replayed: number }>`
        /* replay_webhooks */ with replayed as (
          insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, event_type, next_attempt_at, created_at)
          select platform.new_id(), ${environmentId}, ${endpointId}, e.event_id, e.event_type, ${present}, ${present}
          from (
            select d.event_id, max(d.event_type) as event_type from webhooks.deliveries d
            where d.environment_id = ${environmentId} and d.endpoint_id = ${endpointId} and d.created_at >= ${since} and ${isOfState}
              and not exists (
                select 1 from webhooks.deliveries o where o.environment_id = ${environmentId} and o.event_id = d.event_id
                  and o.endpoint_id = ${endpointId} and ${isSettled}
              )
            group by d.event_id order by min(d.created_at), d.event_id limit ${MOST_REPLAYED}
          ) e
          returning id
        )
        select count(*) as replayed from replayed
      `.execute(this.database.tables());
      this.database.notify(WEBHOOKS_CHANNEL);
      const { replayed } = rows[0]!;
      return { replayed, hasMore: replayed === MOST_REPLAYED };
    });
  }

  async #add(
    { environmentId }: ProjectScope,
    delivery: { readonly endpointId: string; readonly eventId: string; readonly eventType: string | null },
  ): Promise<string> {
    const id = newId();
    const { endpointId, eventId, eventType } = delivery;
    await sql`
      insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, event_type, next_attempt_at, created_at)
      values (${id}, ${environmentId}, ${endpointId}, ${eventId}, ${eventType}, ${present}, ${present})
    `.execute(this.database.tables());
    return id;
  }

  async #refuseUnknown({ environmentId }: ProjectScope, endpointId: string): Promise<void> {
    if (!isUuid(endpointId)) throw new NotFoundError();
    const { rows } = await sql`
      select 1 from webhooks.endpoints p where p.environment_id = ${environmentId} and p.id = ${endpointId}
    `.execute(this.database.tables());
    if (rows.length === 0) throw new NotFoundError();
  }

  /** Keeps other replays and changes of the endpoint out until the transaction ends. */
  async #lockEnabled({ environmentId }: ProjectScope, endpointId: string): Promise<void> {
    if (!isUuid(endpointId)) throw new NotFoundError();
    const { rows } = await sql<{ status: EndpointStatus }>`
      select p.status from webhooks.endpoints p where p.environment_id = ${environmentId} and p.id = ${endpointId} for no key update
    `.execute(this.database.tables());
    const [endpoint] = rows;
    if (endpoint === undefined) throw new NotFoundError();
    if (endpoint.status !== 'ENABLED')
      throw new InvalidStateError('A disabled endpoint is told nothing.', endpoint.status, ['ENABLED']);
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

/** FROM and WHERE of the deliveries `d` to an endpoint. */
function matching(
  { environmentId }: ProjectScope,
  endpointId: string,
  { event, state, from, to }: DeliveryFilter,
): RawBuilder<unknown> {
  const conditions = [
    sql`d.environment_id = ${environmentId} and d.endpoint_id = ${endpointId}`,
    ...(event === undefined ? [] : [sql`d.event_type = ${event}`]),
    // As literals: each state has an index of its own.
    ...(state === undefined ? [] : [sql`d.state = ${sql.lit(state)}`]),
    ...(from === undefined ? [] : [sql`d.created_at >= ${from}`]),
    ...(to === undefined ? [] : [sql`d.created_at < ${to}`]),
  ];
  return sql`webhooks.deliveries d where ${sql.join(conditions, sql` and `)}`;
}

/** Columns of deliveries `d` as answers show them. */
const deliveryColumns = (
  environmentId: number,
) => sql`d.id, d.endpoint_id, d.event_id, coalesce(d.event_type, (
    select e.type from webhooks.events e where e.environment_id = ${environmentId} and e.id = d.event_id
  )) as event, d.state, d.attempts, d.last_status, d.last_error,
  case when d.finished_at is null then d.next_attempt_at end as next_attempt_at, d.created_at, coalesce(d.finished_at, (
    select max(a.at) from webhooks.attempts a where a.environment_id = ${environmentId} and a.delivery_id = d.id
  ), d.created_at) as updated_at`;
