import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { environmentScopes } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import {
  Database,
  done,
  enqueue,
  forEachApart,
  Job,
  type JobResult,
  jobType,
  neverJoined,
  openJobs,
  Periodic,
  present,
  snooze,
} from '#platform';
import { propertiesPath } from './rules/event-properties.js';
import { plannedForRules } from './rules/set-plans.query.js';
import type { PropertyTest } from './rules/rule.js';
import { SubscriberRulesService } from './rules/subscriber-rules.service.js';
import { TRIGGERS_CHANNEL } from './triggers.service.js';

/** End of a wait: an event of the waiting person, or rules, as JSON text, that come to hold for them. */
export type Awaited =
  | { readonly event: { readonly name: string; readonly where: readonly PropertyTest[] } }
  | { readonly rules: string };

/** Somebody who waits; the id is the waiter's own, such as that of a run. */
export interface Waiter {
  readonly id: string;
  readonly subscriberId: string;
}

/** Somebody who begins to wait. */
interface Beginner extends Waiter {
  /** When they came to wait, from which on events count; null: now. */
  readonly since: Date | null;
}

/** Asks the rules of a wait about all who wait. */
export const evaluateWait = jobType<{ waitId: string }>('audience.evaluate-wait', 'segments');

/** Looked for every minute, rules are asked at least every five, as those of segments are. */
const EVERY_MS = 60_000;
const FRESH_MS = 200_000;
/** Delay of an evaluation while another one of the project is under way. */
const NEXT_TURN_MS = 2_000;
/** Waiters that are removed in one transaction. */
const CHUNK = 10_000;

/**
 * Tells for whom it happens what they wait for. Who waits costs nothing but a row: an event looks its person up, in the statement that
 * records it, and rules are asked about all at once.
 */
@Injectable()
export class WaitsService {
  constructor(
    private readonly database: Database,
    private readonly rules: SubscriberRulesService,
    private readonly clock: Clock,
  ) {}

  /** Makes a wait known; does nothing when it is. */
  async open({ environmentId }: ProjectScope, id: string, awaited: Awaited): Promise<void> {
    const event = 'event' in awaited ? awaited.event : null;
    const conditions = event === null || event.where.length === 0 ? null : propertiesPath(event.where);
    const rules = 'rules' in awaited ? awaited.rules : null;
    await sql`
      insert into audience.waits (id, environment_id, event_name, conditions, rules)
      values (${id}, ${environmentId}, ${event?.name ?? null}, ${conditions}::jsonpath, ${rules})
      on conflict (id, environment_id) do nothing
    `.execute(this.database.tables());
  }

  /** Removes waits, and first a chunk of who still waits; resolves to true when there may be more. */
  async close({ environmentId }: ProjectScope, ids: readonly string[]): Promise<boolean> {
    if (ids.length === 0) return false;
    const { numAffectedRows = 0n } = await sql`
      delete from audience.waiters where environment_id = ${environmentId} and (wait_id, subscriber_id, waiter_id) in (
        select p.wait_id, p.subscriber_id, p.waiter_id from audience.waiters p
        where p.environment_id = ${environmentId} and p.wait_id = any(${[...ids]}::uuid[]) limit ${CHUNK}
      )
    `.execute(this.database.tables());
    if (numAffectedRows > 0n) return true;
    await sql`
      delete from audience.waits where environment_id = ${environmentId} and id = any(${[...ids]}::uuid[])
    `.execute(this.database.tables());
    return false;
  }

  /**
   * Lets people wait, in the open transaction, but for those for whom it happened since they came: resolves to these. It locks them: an
   * event of theirs is recorded before, or behind its commit, and finds who waits.
   */
  async begin(
    scope: ProjectScope,
    waitId: string,
    beginners: readonly Beginner[],
  ): Promise<ReadonlySet<string>> {
    if (beginners.length === 0) return new Set();
    const { environmentId } = scope;
    const everybody = beginners.map(({ subscriberId }) => subscriberId);
    await sql`
      select 1 from audience.subscribers b
      where b.environment_id = ${environmentId} and b.id = any(${everybody}::uuid[]) order by b.id for update
    `.execute(this.database.tables());
    const happened = await this.#happenedSince(scope, waitId, beginners);
    const waiters = beginners.filter(({ id }) => !happened.has(id));
    if (waiters.length === 0) return happened;
    const subscriberIds = waiters.map(({ subscriberId }) => subscriberId);
    await sql`
      /* begin_waiting */ insert into audience.waiters (wait_id, subscriber_id, waiter_id, environment_id, since)
      select ${waitId}, g.subscriber_id, g.id, ${environmentId}, coalesce(g.since, ${present})
      from unnest(${subscriberIds}::uuid[], ${waiters.map(({ id }) => id)}::uuid[], ${sinces(waiters)}::timestamptz[])
        g(subscriber_id, id, since)
      where exists (
        select 1 from audience.subscribers b
        where b.environment_id = ${environmentId} and b.id = g.subscriber_id ${neverJoined}
      )
      returning waiter_id
    `.execute(this.database.tables());
    return happened;
  }

  /** Ids of those of whom an event that ends the wait was recorded since they came. */
  async #happenedSince(
    { environmentId }: ProjectScope,
    waitId: string,
    beginners: readonly Beginner[],
  ): Promise<ReadonlySet<string>> {
    const early = beginners.filter(({ since }) => since !== null);
    if (early.length === 0) return new Set();
    const first = new Date(Math.min(...early.map(({ since }) => since!.getTime())));
    const { rows } = await sql<{ id: string }>`
      /* happened_since */ select g.id
      from unnest(${early.map(({ subscriberId }) => subscriberId)}::uuid[], ${early.map(({ id }) => id)}::uuid[],
        ${sinces(early)}::timestamptz[]) g(subscriber_id, id, since)
      join audience.waits w on w.environment_id = ${environmentId} and w.id = ${waitId} and w.event_name is not null
      where exists (
        select 1 from audience.subscriber_events e
        where e.environment_id = ${environmentId} and e.subscriber_id = g.subscriber_id and e.name = w.event_name
          and e.occurred_at >= ${first} and e.occurred_at >= g.since and e.created_at > g.since
          and (w.conditions is null or e.properties @@ w.conditions) ${neverJoined}
      )
    `.execute(this.database.tables());
    return new Set(rows.map(({ id }) => id));
  }

  /** Lets waiters wait no longer. Resolves to those for whom it happened meanwhile, and nobody was told yet. */
  async end(
    { environmentId }: ProjectScope,
    waitId: string,
    waiters: readonly Waiter[],
  ): Promise<ReadonlySet<string>> {
    if (waiters.length === 0) return new Set();
    const ids = waiters.map(({ id }) => id);
    await sql`
      /* end_waiting */ delete from audience.waiters p
      using unnest(${waiters.map(({ subscriberId }) => subscriberId)}::uuid[], ${ids}::uuid[]) g(subscriber_id, id)
      where p.environment_id = ${environmentId} and p.wait_id = ${waitId} and p.subscriber_id = g.subscriber_id
        and p.waiter_id = g.id
    `.execute(this.database.tables());
    const { rows } = await sql<{ id: string }>`
      select distinct f.waiter_id as id from audience.fulfilled_waiters f
      where f.environment_id = ${environmentId} and f.waiter_id = any(${ids}::uuid[]) and f.wait_id = ${waitId}
    `.execute(this.database.tables());
    return new Set(rows.map(({ id }) => id));
  }

  /** SQL condition: it happened for somebody, and nobody was told yet. */
  isAnyFulfilled(): RawBuilder<boolean> {
    return sql<boolean>`exists (select 1 from audience.fulfilled_waiters)`;
  }

  /** SQL condition: the same in the environment with this id. */
  isFulfilledIn(environmentId: RawBuilder<unknown>): RawBuilder<boolean> {
    return sql<boolean>`${environmentId} in (select f.environment_id from audience.fulfilled_waiters f)`;
  }

  /** A DELETE that returns for whom it happened, as `wait_id, waiter_id uuid`, in a WITH of the caller's. */
  taking({ environmentId }: ProjectScope, limit: number): RawBuilder<unknown> {
    return sql`
      delete from audience.fulfilled_waiters f
      where f.environment_id = ${environmentId} and f.id = any(array(
        select id from audience.fulfilled_waiters where environment_id = ${environmentId}
        order by id limit ${limit} for update skip locked
      ))
      returning f.wait_id, f.waiter_id
    `;
  }

  /** A DELETE of the waiters in `fulfilled`, a table of `wait_id, subscriber_id, waiter_id`, for a WITH of the caller's. */
  leaving({ environmentId }: ProjectScope, fulfilled: RawBuilder<unknown>): RawBuilder<unknown> {
    return sql`
      delete from audience.waiters where environment_id = ${environmentId} and ctid = any(array(
        select p.ctid from ${fulfilled} f cross join lateral (
          select p.ctid from audience.waiters p
          where p.environment_id = ${environmentId} and p.wait_id = f.wait_id and p.subscriber_id = f.subscriber_id
            and p.waiter_id = f.waiter_id ${neverJoined}
        ) p
      ))
    `;
  }

  /** Hands waits for rules to the workers whose evaluation is old, unless nobody waits. */
  @Periodic('evaluate-waits', { everyMs: EVERY_MS })
  async requestDue(): Promise<void> {
    await forEachApart(
      this.due(),
      ({ waitId, ...scope }) =>
        this.database.transaction(scope, () => enqueue(this.database, scope, evaluateWait({ waitId }))),
      'waits could not be handed over',
    );
  }

  /** The due waits that no worker has or is about to get. */
  async *due(): AsyncGenerator<ProjectScope & { readonly waitId: string }> {
    const staleBefore = new Date(this.clock.now().getTime() - FRESH_MS);
    const found = await this.database.system(() =>
      sql<ProjectScope & { readonly waitId: string }>`
        select w.id as wait_id, e.tenant_id, e.project_id, e.environment_id, e.environment
        from audience.waits w join ${environmentScopes} e on e.environment_id = w.environment_id
        where w.rules is not null and (w.evaluated_at is null or w.evaluated_at <= ${staleBefore})
          and w.id::text not in (${openJobs(evaluateWait, 'waitId')})
          and exists (
            select 1 from audience.waiters p where p.wait_id = w.id and p.environment_id = w.environment_id ${neverJoined}
          )
        order by w.evaluated_at nulls first, w.id
      `.execute(this.database.tables()),
    );
    yield* found.rows;
  }

  /** One at a time of a project. */
  @Job(evaluateWait)
  evaluate(scope: ProjectScope, { waitId }: { waitId: string }): Promise<JobResult> {
    return this.database.transaction(scope, async () => {
      const { environmentId } = scope;
      const now = this.clock.now();
      const turn = `waits ${environmentId}`;
      const { rows: taken } = await sql<{ isTaken: boolean }>`
        select pg_try_advisory_xact_lock(hashtextextended(${turn}, 0)) as is_taken
      `.execute(this.database.tables());
      if (taken[0]?.isTaken !== true) return snooze(new Date(now.getTime() + NEXT_TURN_MS));
      const { rows } = await sql<{ rules: string }>`
        update audience.waits set evaluated_at = ${now}
        where environment_id = ${environmentId} and id = ${waitId} and rules is not null returning rules
      `.execute(this.database.tables());
      const [wait] = rows;
      if (wait === undefined) return done;
      const predicate = await this.rules.ofText(scope, wait.rules, now);
      const { rows: fulfilled } = await plannedForRules(this.database, scope, predicate, () =>
        sql<{ count: number }>`
          /* fulfil_rules */ with fulfilled as (
            insert into audience.fulfilled_waiters (environment_id, waiter_id, wait_id)
            select ${environmentId}, p.waiter_id, ${waitId}
            from audience.waiters p join audience.scoped_subscribers b on b.id = p.subscriber_id
            where p.environment_id = ${environmentId} and p.wait_id = ${waitId} and b.environment_id = ${environmentId}
              and ${predicate}
            returning id
          )
          select count(*) as count from fulfilled
        `.execute(this.database.tables()),
      );
      if ((fulfilled[0]?.count ?? 0) > 0) this.database.notify(TRIGGERS_CHANNEL);
      return done;
    });
  }
}

const sinces = (beginners: readonly Beginner[]) => beginners.map(({ since }) => since?.toISOString() ?? null);
