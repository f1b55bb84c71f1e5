import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import { type PublishedEventType, Clock, type ProjectScope } from '#kernel';
import {
  type PublishedEvent,
  Publisher,
  Database,
  logFailure,
  LOGGER,
  Loop,
  named,
  Notifications,
} from '#platform';
import { listensTo } from './endpoint.js';

const REFRESH_MS = 2_000;

/** Notifies workers that a webhook is due. */
export const WEBHOOKS_CHANNEL = 'mailwright_webhooks';

/** Tells all processes that endpoints have changed. */
export const ENDPOINTS_CHANNEL = 'mailwright_webhook_endpoints';

/**
 * Writes events and their deliveries to listening endpoints, in the caller's transaction. Listeners are read when they
 * have changed, and every 2 seconds in case nobody said so: without any, an event costs nothing.
 */
@Injectable()
export class WebhookPublisherService extends Publisher implements OnModuleInit, OnApplicationShutdown {
  readonly #refreshing: Loop;
  #listeners: ReadonlyMap<number, readonly { readonly eventTypes: readonly string[] }[]> = new Map();
  #failures = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    notifications: Notifications,
    @Inject(LOGGER) logger: Logger,
  ) {
    super();
    this.#refreshing = new Loop(
      REFRESH_MS,
      () => this.refresh(),
      (error) => {
        // The first failure is left to the program, which reports why it cannot start.
        if (this.#failures++ > 0) logFailure(logger, error, 'reading the webhook endpoints failed');
      },
      [(wake) => notifications.listen(ENDPOINTS_CHANNEL, wake)],
    );
  }

  /** Starts without a database, too: the loop asks again. */
  async onModuleInit(): Promise<void> {
    await this.refresh().catch(() => undefined);
    this.#refreshing.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#refreshing.stop();
  }

  /** Reads which environments have listeners, and for which types. */
  async refresh(): Promise<void> {
    const rows = await this.database.statement(
      'system',
      sql<{ environmentId: number; eventTypes: string[] }>`${named('webhook_endpoints')}
        select environment_id, event_types from webhooks.endpoints where status = 'ENABLED'
      `,
    );
    this.#failures = 0;
    this.#listeners = Map.groupBy(rows, ({ environmentId }) => environmentId);
  }

  override hasListeners(
    { environmentId }: Pick<ProjectScope, 'environmentId'>,
    type: PublishedEventType,
  ): boolean {
    const endpoints = this.#listeners.get(environmentId) ?? [];
    return endpoints.some(({ eventTypes }) => listensTo(eventTypes, type));
  }

  override async publish(scope: ProjectScope, ...events: readonly PublishedEvent[]): Promise<void> {
    const heard = events.filter(({ type }) => this.hasListeners(scope, type));
    if (heard.length === 0) return;
    const recordset = heard.map(({ subscriberId = null, ...event }) => ({
      ...event,
      subscriber_id: subscriberId,
    }));
    const rows = sql`
      select platform.new_id() as id, e.type, e.subscriber_id, e.data, null::text as traceparent
      from jsonb_to_recordset(${JSON.stringify(recordset)}::jsonb) as e(type text, subscriber_id uuid, data jsonb)
    `;
    await this.database.transaction(scope, () => this.#write(scope, rows));
  }

  override async publishRows(
    scope: Pick<ProjectScope, 'environmentId'>,
    type: PublishedEventType,
    rows: RawBuilder<unknown>,
  ): Promise<void> {
    if (!this.hasListeners(scope, type)) return;
    await this.#write(
      scope,
      sql`select platform.new_id() as id, ${type}::text as type, r.subscriber_id, r.data, r.traceparent from (${rows}) r`,
    );
  }

  override async publishOnce(
    scope: Pick<ProjectScope, 'environmentId'>,
    type: PublishedEventType,
    rows: RawBuilder<unknown>,
  ): Promise<void> {
    if (!this.hasListeners(scope, type)) return;
    await this.#write(
      scope,
      sql`select r.id, ${type}::text as type, r.subscriber_id, r.data, r.traceparent from (${rows}) r`,
    );
  }

  /** Keeps no event without a listener. `rows` is the caller's SQL. */
  async #write(scope: Pick<ProjectScope, 'environmentId'>, rows: RawBuilder<unknown>): Promise<void> {
    const now = this.clock.now();
    const listens = sql`p.environment_id = ${scope.environmentId} and p.status = 'ENABLED'
      and (p.event_types = '{}' or p.event_types && array[e.type, split_part(e.type, '.', 1) || '.*'])`;
    const { rows: written } = await sql<{ deliveries: number }>`
      /* publish_events */ with told as materialized (
        select e.* from (${rows}) e
        where exists (select 1 from webhooks.endpoints p where ${listens})
      ), event as (
        insert into webhooks.events (id, environment_id, type, subscriber_id, data, occurred_at, traceparent)
        select id, ${scope.environmentId}, type, subscriber_id, data, ${now}, coalesce(traceparent, platform.traceparent()) from told
        on conflict (id, environment_id) do nothing returning id, type
      ), delivery as (
        insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, event_type, next_attempt_at, created_at)
        select platform.new_id(), ${scope.environmentId}, p.id, e.id, e.type, ${now}, ${now}
        from event e join webhooks.endpoints p on ${listens}
        returning id
      )
      select count(*) as deliveries from delivery
    `.execute(this.database.tables());
    if (written[0]!.deliveries > 0) this.database.notify(WEBHOOKS_CHANNEL);
  }
}
