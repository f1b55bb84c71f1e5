import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { type AnnouncementType, Clock, newId, type ProjectScope } from '#kernel';
import { type Announcement, Announcer, Database, describeError, LOGGER, Loop } from '#platform';

const REFRESH_MS = 2_000;

/** NOTIFY channel on which workers hear that there is something to tell. */
export const WEBHOOKS_CHANNEL = 'mailwright_webhooks';

/**
 * Writes what happened, and to which endpoints it is to be told, into the caller's transaction. Who listens is known
 * as of the last 2 seconds: where nobody does, an announcement costs nothing.
 */
@Injectable()
export class WebhookAnnouncer extends Announcer implements OnModuleInit, OnApplicationShutdown {
  readonly #refreshing: Loop;
  #listeners: ReadonlyMap<number, readonly (readonly string[])[]> = new Map();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    super();
    this.#refreshing = new Loop(
      REFRESH_MS,
      () => this.refresh(),
      (error) => logger.warn({ error: describeError(error) }, 'reading the webhook endpoints failed'),
    );
  }

  /** A database that cannot be asked yet is asked again: it does not keep the process from starting. */
  async onModuleInit(): Promise<void> {
    await this.refresh().catch(() => undefined);
    this.#refreshing.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#refreshing.stop();
  }

  /** Learns who listens now. */
  async refresh(): Promise<void> {
    const { rows } = await sql<{ environmentId: number; eventTypes: string[] }>`
      select environment_id as "environmentId", event_types as "eventTypes" from webhooks.listeners()
    `.execute(this.database.unscoped);
    const grouped = Map.groupBy(rows, ({ environmentId }) => environmentId);
    this.#listeners = new Map(
      [...grouped].map(([environmentId, ofOne]) => [
        environmentId,
        ofOne.map(({ eventTypes }) => eventTypes),
      ]),
    );
  }

  override hears({ environmentId }: Pick<ProjectScope, 'environmentId'>, type: AnnouncementType): boolean {
    const endpoints = this.#listeners.get(environmentId) ?? [];
    return endpoints.some((types) => types.length === 0 || types.includes(type));
  }

  override async announce(scope: ProjectScope, ...announcements: readonly Announcement[]): Promise<void> {
    const heard = announcements.filter(({ type }) => this.hears(scope, type));
    if (heard.length === 0) return;
    const now = this.clock.now();
    const events = heard.map(({ type, subscriberId = null, data }) => ({
      id: newId(),
      type,
      subscriber_id: subscriberId,
      data,
    }));
    await this.database.transaction(scope, ({ db }) =>
      sql`
        with event as (
          insert into webhooks.events (id, environment_id, type, subscriber_id, data, occurred_at)
          select e.id, ${scope.environmentId}, e.type, e.subscriber_id, e.data, ${now}
          from jsonb_to_recordset(${JSON.stringify(events)}::jsonb)
            as e(id uuid, type text, subscriber_id uuid, data jsonb)
          returning id, type
        ), delivery as (
          insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, next_attempt_at, created_at)
          select platform.new_id(), ${scope.environmentId}, p.id, e.id, ${now}, ${now}
          from event e join webhooks.endpoints p on p.environment_id = ${scope.environmentId}
            and p.status = 'ENABLED' and (p.event_types = '{}' or e.type = any (p.event_types))
        )
        select pg_notify(${WEBHOOKS_CHANNEL}, '')
      `.execute(db),
    );
  }
}
