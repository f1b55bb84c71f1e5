import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, present, presentAnd } from '#platform';
import { numberEvents } from './event-sequence.repository.js';

/** A webhook to be posted now. */
export interface DueWebhook {
  readonly id: string;
  readonly endpointId: string;
  readonly environmentId: number;
  readonly projectId: number;
  readonly eventId: string;
  readonly sequence: number;
  readonly type: string;
  /** Null when the person it is about was erased. */
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly occurredAt: Date;
  readonly url: string;
  readonly secret: string;
  readonly previousSecret: string | null;
  /** Counts this one. */
  readonly attempt: number;
  /** The span in which the event happened; null where that was not traced. */
  readonly traceparent: string | null;
}

/** Outcome of one attempt; `nextAttemptAt` is null after the last. */
export interface WebhookOutcome {
  readonly delivery: Pick<DueWebhook, 'id' | 'endpointId' | 'attempt' | 'environmentId'>;
  readonly at: Date;
  readonly durationMs: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly nextAttemptAt: Date | null;
}

/** Limits of one claim. */
export interface ClaimLimits {
  readonly limit: number;
  /** Limit of one endpoint. */
  readonly limitOfOne: number;
  /** Posts in flight by endpoint, which count towards `limitOfOne`. */
  readonly busy?: ReadonlyMap<string, number>;
}

type Candidate = Pick<DueWebhook, 'id' | 'environmentId'>;

/** Longer than a request may take with its transactions. */
export const LEASE_MS = 30_000;

/** Claims due webhooks of all projects and writes their outcomes. */
@Injectable()
export class WebhookDeliveryRepository {
  constructor(private readonly database: Database) {}

  /**
   * Leases what is due, first for the endpoints with the fewest posts in flight, so that endpoints that do not answer delay
   * no others. Each claim counts as an attempt. Not by `leaseDue`, which knows nothing of endpoints.
   */
  async claim({ limit, limitOfOne, busy = new Map() }: ClaimLimits): Promise<DueWebhook[]> {
    if (!(await this.#isAny())) return [];
    const candidates = await this.#candidates({ limit, limitOfOne, busy });
    const claimed: DueWebhook[] = [];
    for (const [environmentId, those] of Map.groupBy(candidates, (candidate) => candidate.environmentId))
      claimed.push(...(await this.#claimIn(environmentId, those)));
    return claimed;
  }

  #candidates({ limit, limitOfOne, busy }: Required<ClaimLimits>): Promise<Candidate[]> {
    return this.database.system(async () => {
      const { rows } = await sql<Candidate>`
        /* due_webhooks */ select c.id, p.environment_id
        from webhooks.endpoints p
        left join unnest(${[...busy.keys()]}::uuid[], ${[...busy.values()]}::int[]) b(endpoint_id, posts) on b.endpoint_id = p.id
        cross join lateral (
          select d.id, d.next_attempt_at, coalesce(b.posts, 0) + row_number() over (order by d.next_attempt_at) as place
          from webhooks.deliveries d
          where d.endpoint_id = p.id and d.environment_id = p.environment_id and d.state = 'PENDING'
            and d.next_attempt_at <= ${present}
          order by d.next_attempt_at limit greatest(0, ${limitOfOne}::int - coalesce(b.posts, 0))
        ) c
        order by c.place, c.next_attempt_at limit ${limit}
      `.execute(this.database.tables());
      return rows;
    });
  }

  /** Leases the candidates of one environment that no other process has locked, and whose events have their number. */
  #claimIn(environmentId: number, candidates: readonly Candidate[]): Promise<DueWebhook[]> {
    return this.database.system(async () => {
      await numberEvents(this.database, environmentId);
      const { rows } = await sql<DueWebhook>`
        /* claim_webhooks */ with due as (
          select d.id from webhooks.deliveries d
          join webhooks.events e on e.id = d.event_id and e.environment_id = ${environmentId}
          where d.environment_id = ${environmentId} and d.id = any(${candidates.map(({ id }) => id)}::uuid[])
            and d.finished_at is null and d.next_attempt_at <= ${present} and e.sequence is not null
          for update of d skip locked
        ), claimed as (
          update webhooks.deliveries d set attempts = d.attempts + 1, next_attempt_at = ${presentAnd(LEASE_MS)}
          from due where d.environment_id = ${environmentId} and d.id = due.id returning d.*
        )
        select c.id, c.endpoint_id, c.environment_id, p.project_id, e.id as event_id, e.sequence, e.type, e.data,
          e.occurred_at, e.traceparent, p.url, p.secret, c.attempts as attempt,
          case when p.previous_secret_until > ${present} then p.previous_secret end as previous_secret
        from claimed c
        join webhooks.events e on e.id = c.event_id and e.environment_id = ${environmentId}
        join webhooks.endpoints p on p.id = c.endpoint_id and p.environment_id = ${environmentId}
      `.execute(this.database.tables());
      return rows;
    });
  }

  #isAny(): Promise<boolean> {
    return this.database.holds(
      sql`(
        select next_attempt_at from webhooks.deliveries where finished_at is null order by next_attempt_at limit 1
      ) <= ${present}`,
    );
  }

  /**
   * Writes outcomes, unless the delivery was claimed again or ended meanwhile. The answer about a person who was erased
   * meanwhile is not kept: it may repeat their data.
   */
  async settle(outcomes: readonly WebhookOutcome[]): Promise<void> {
    const byEnvironment = Map.groupBy(outcomes, ({ delivery }) => delivery.environmentId);
    for (const [environmentId, those] of byEnvironment) await this.#settleIn(environmentId, those);
  }

  async #settleIn(environmentId: number, outcomes: readonly WebhookOutcome[]): Promise<void> {
    const rows = outcomes.map(({ delivery, at, durationMs, status, error, nextAttemptAt }) => ({
      id: delivery.id,
      attempt: delivery.attempt,
      at,
      duration_ms: Math.round(durationMs),
      status,
      error,
      next_attempt_at: nextAttemptAt,
    }));
    const outcome = sql`
      select o.id, o.attempt, o.at, o.duration_ms, o.status, o.next_attempt_at, o.error is null as is_delivered,
        case when o.error is not null and e.data = jsonb_build_object('subscriberId', e.subscriber_id) then 'erased'
          else o.error end as error
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as o(id uuid, attempt int, at timestamptz,
        duration_ms int, status int, error text, next_attempt_at timestamptz)
      join webhooks.deliveries t on t.id = o.id and t.environment_id = ${environmentId}
      left join webhooks.events e on e.id = t.event_id and e.environment_id = ${environmentId}
    `;
    await this.database.system(async () => {
      const tables = this.database.tables();
      await sql`
        with outcome as (${outcome}), held as materialized (
          select d.id from webhooks.deliveries d
          where d.environment_id = ${environmentId} and d.id = any(array(select id from outcome)) order by d.id for update
        )
        update webhooks.deliveries d set
          state = case when o.is_delivered then 'DELIVERED' when o.next_attempt_at is null then 'FAILED' else 'PENDING' end,
          finished_at = case when o.is_delivered or o.next_attempt_at is null then o.at end,
          next_attempt_at = coalesce(o.next_attempt_at, o.at), last_status = o.status, last_error = o.error
        from outcome o join held h on h.id = o.id
        where d.environment_id = ${environmentId} and d.id = o.id and d.attempts = o.attempt and d.finished_at is null
      `.execute(tables);
      await sql`
        insert into webhooks.attempts (delivery_id, environment_id, attempt, at, duration_ms, status, error)
        select o.id, ${environmentId}, o.attempt, o.at, o.duration_ms, o.status, o.error from (${outcome}) o
        on conflict do nothing
      `.execute(tables);
    });
  }
}
