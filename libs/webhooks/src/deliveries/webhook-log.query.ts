import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { WEBHOOKS_CHANNEL } from '../events/webhook-announcer.service.js';

/** One event on its way to one endpoint. */
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

/** Which deliveries are to be posted once more: one, or those of an endpoint since a moment. */
export type Replay =
  | { readonly deliveryId: string }
  | { readonly endpointId: string; readonly since: Date; readonly state: 'FAILED' | 'ALL' };

/** The log of what endpoints were told, and telling it again. */
@Injectable()
export class WebhookLog {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The newest `limit` of an endpoint. */
  async newest(scope: ProjectScope, endpointId: string, limit: number): Promise<WebhookLogRow[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<WebhookLogRow>`
        select d.id, d.event_id as "eventId", e.type, d.endpoint_id as "endpointId", d.state, d.attempts,
          d.last_status as "lastStatus", d.last_error as "lastError", d.created_at as "createdAt",
          case when d.finished_at is null then d.next_attempt_at end as "nextAttemptAt"
        from webhooks.deliveries d join webhooks.events e on e.id = d.event_id
        where d.endpoint_id = ${endpointId} and d.environment_id = ${scope.environmentId}
        order by d.created_at desc, d.id desc limit ${limit}
      `.execute(db);
      return rows;
    });
  }

  /** Tells it again from the first attempt on; how many. Endpoints that are disabled are left out. */
  async replay(scope: ProjectScope, which: Replay): Promise<number> {
    const now = this.clock.now();
    const chosen =
      'deliveryId' in which
        ? sql`d.id = ${which.deliveryId}`
        : sql`d.endpoint_id = ${which.endpointId} and d.created_at >= ${which.since}
            and (${which.state} = 'ALL' or d.state = 'FAILED')`;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ count: number }>`
        with again as (
          insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, next_attempt_at, created_at)
          select platform.new_id(), d.environment_id, d.endpoint_id, d.event_id, ${now}, ${now}
          from webhooks.deliveries d join webhooks.endpoints p on p.id = d.endpoint_id and p.status = 'ENABLED'
          where d.environment_id = ${scope.environmentId} and d.finished_at is not null and ${chosen}
          returning id
        )
        select count(*) as count, pg_notify(${WEBHOOKS_CHANNEL}, '') from again
      `.execute(db);
      return rows[0]?.count ?? 0;
    });
  }
}
