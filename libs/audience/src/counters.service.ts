import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, drainEnvironments, Periodic } from '#platform';
import { STATUS_WITHOUT_CONSENT } from './consents/consent.js';
import { statusByConsents, statusOfSuppressed } from './consents/subscriber-status.query.js';

/** A counter that differs from its rows. */
export interface CounterDifference {
  readonly environmentId: number;
  readonly kind:
    | 'SUBSCRIBERS'
    | 'CREATED'
    | 'SUPPRESSIONS'
    | 'SUBSCRIBED'
    | 'PENDING_CONFIRMATION'
    | 'LISTED';
  /** The id of a consent's topic, the day of CREATED, the moment of a mark in the list (LISTED); else empty. */
  readonly key: string;
  /** A subscriber's status or a suppression's reason. */
  readonly state: string;
  readonly counter: number;
  readonly counted: number;
}

/** Subscribers whose status does not follow from suppression and consents. */
export interface StatusDifference {
  readonly environmentId: number;
  readonly status: string;
  readonly derived: string;
  readonly subscribers: number;
}

/** Consents without their subscriber or topic: no foreign key prevents them. */
export interface StrayConsents {
  readonly environmentId: number;
  readonly missing: 'SUBSCRIBER' | 'TOPIC';
  readonly consents: number;
}

export interface CounterCheck {
  /** Number of compared counters. */
  readonly counters: number;
  readonly differences: readonly CounterDifference[];
  readonly statusDifferences: readonly StatusDifference[];
  readonly strayConsents: readonly StrayConsents[];
}

const CHUNK = 20_000;
/** A page by its number passes over so many, and a moment's. */
const PER_MARK = 2_500;

/** Keeps the counters, and compares them with their rows, for the operator. Exact under concurrent writes: each check reads one snapshot. */
@Injectable()
export class CountersService {
  constructor(private readonly database: Database) {}

  /** Adds the deltas of counters to their rows, so that readers have few to sum up; marks lists at each `perMark` subscribers. */
  @Periodic('fold-counters', { everyMs: 5_000 })
  async fold({ perMark = PER_MARK }: { readonly perMark?: number } = {}): Promise<void> {
    await drainEnvironments(
      this.database,
      { rows: sql`audience.counter_deltas`, batch: CHUNK },
      async (environmentId, most) => {
        // Marks made side by side would each have people of the other.
        await sql`select pg_advisory_xact_lock(hashtextextended(${`list marks of ${environmentId}`}, 0))`.execute(
          this.database.tables(),
        );
        const { rows } = await folded(environmentId, most, perMark).execute(this.database.tables());
        return rows[0]!.folded;
      },
    );
  }

  /** Reads all subscribers, consents and suppressions of all projects: seconds per million. */
  check(): Promise<CounterCheck> {
    return this.database.system(async () => {
      const tables = this.database.tables();
      const counters = [...(await compared.execute(tables)).rows, ...(await marked.execute(tables)).rows];
      const { rows: statusDifferences } = await staleStatuses.execute(tables);
      const { rows: strayConsents } = await strays.execute(tables);
      const differences = counters.filter(({ counter, counted }) => counter !== counted);
      return { counters: counters.length, differences, statusDifferences, strayConsents };
    });
  }

  /** Corrects the counters; returns how many were wrong. */
  repair(): Promise<number> {
    return this.database.system(async () => {
      const { rows } = await compared.execute(this.database.tables());
      const wrong = rows.filter(({ counter, counted }) => counter !== counted);
      const marks = await remarked.execute(this.database.tables());
      let repaired = marks.rows.length;
      for (const environmentId of new Set(wrong.map((counter) => counter.environmentId))) {
        const corrections = await corrected(environmentId).execute(this.database.tables());
        repaired += corrections.rows.length;
      }
      return repaired;
    });
  }
}

const compared = sql<CounterDifference>`
  select environment_id, kind, key, state, sum(counter)::bigint as counter,
    sum(counted)::bigint as counted
  from (
    select environment_id, kind, key, state, value as counter, 0 as counted from audience.counter_values
    union all
    select environment_id, kind, key, state, 0, value from audience.recounted_values
  ) n
  group by environment_id, kind, key, state
  order by environment_id, kind, key, state
`;

/** Subscribers between each mark of a list and the one before, by mark and deltas and by counting. */
const marked = sql<CounterDifference>`
  select m.environment_id, 'LISTED' as kind, m.until::text as key, '' as state,
    m.subscribers + (
      select coalesce(sum(d.delta), 0)::bigint from audience.counter_deltas d
      where d.environment_id = m.environment_id and d.kind = 'CREATED' and d.created_at > m.since and d.created_at <= m.until
    ) as counter,
    (
      select count(*) from audience.subscribers b
      where b.environment_id = m.environment_id and b.created_at > m.since and b.created_at <= m.until
    ) as counted
  from (
    select environment_id, until, subscribers,
      coalesce(lag(until) over (partition by environment_id order by until), '-infinity') as since
    from audience.list_marks
  ) m
  order by m.environment_id, m.until
`;

const remarked = sql`
  update audience.list_marks m set subscribers = m.subscribers + w.counted - w.counter
  from (${marked}) w
  where m.environment_id = w.environment_id and m.until = w.key::timestamptz and w.counter <> w.counted
  returning m.until
`;

/** Adds the difference to each counter of an environment, recounted in the same moment. */
const corrected = (environmentId: number) => sql`
  insert into audience.counter_deltas (environment_id, kind, key, state, delta)
  select ${environmentId}::bigint, kind, key, state, sum(n.difference) from (
    select kind, key, state, value as difference from audience.recounted_values where environment_id = ${environmentId}
    union all
    select kind, key, state, -value from audience.counter_values where environment_id = ${environmentId}
  ) n
  group by kind, key, state having sum(n.difference) <> 0
  returning kind
`;

/** `subscriberStatus` of all subscribers, as SQL. */
const staleStatuses = sql<StatusDifference>`
  select d.environment_id, d.status, d.derived, count(*) as subscribers
  from (
    select b.environment_id, b.status,
      coalesce(${statusOfSuppressed(sql`s.reason`)}, k.status, ${sql.lit(STATUS_WITHOUT_CONSENT)}) as derived
    from audience.subscribers b
    left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
    left join (
      select c.environment_id, c.subscriber_id, ${statusByConsents} as status
      from audience.consents c group by c.environment_id, c.subscriber_id
    ) k on k.environment_id = b.environment_id and k.subscriber_id = b.id
  ) d
  where d.status <> d.derived
  group by d.environment_id, d.status, d.derived
  order by d.environment_id, d.status, d.derived
`;

const strays = sql<StrayConsents>`
  select c.environment_id, m.missing, count(*) as consents
  from audience.consents c
  left join audience.subscribers b on b.id = c.subscriber_id and b.environment_id = c.environment_id
  left join audience.topics t on t.id = c.topic_id and t.environment_id = c.environment_id
  cross join lateral (select case when b.id is null then 'SUBSCRIBER' else 'TOPIC' end as missing) m
  where b.id is null or t.id is null
  group by c.environment_id, m.missing
  order by c.environment_id, m.missing
`;

/**
 * Adds up to `most` deltas to their counters and removes them, and marks the list of subscribers. A mark moves while it is the
 * youngest and has few: whoever was created before it belongs to the first mark behind, whenever that was committed.
 */
function folded(
  environmentId: number,
  most: number,
  perMark: number,
): RawBuilder<{ readonly folded: number }> {
  const marks = sql`audience.list_marks m where m.environment_id = ${environmentId}`;
  return sql<{ folded: number }>`
    with taken as (
      with picked as materialized (
        select ctid from audience.counter_deltas where environment_id = ${environmentId} limit ${most} for update skip locked
      )
      delete from audience.counter_deltas
      -- Joined: an array would be searched from its beginning for each row.
      where environment_id = ${environmentId} and ctid in (select ctid from picked)
      returning kind, key, state, delta, created_at
    ), folded as (
      insert into audience.counters as c (environment_id, kind, key, state, value)
      select ${environmentId}::bigint, kind, key, state, sum(delta) from taken
      group by kind, key, state having sum(delta) <> 0
      order by kind, key, state
      on conflict (environment_id, kind, key, state) do update set value = c.value + excluded.value
    ), youngest as materialized (
      select until, subscribers from ${marks} order by until desc limit 1
    ), found as (
      select t.created_at, t.subscribers, m.until
      from (
        select created_at, sum(delta)::bigint as subscribers from taken
        where created_at is not null group by created_at having sum(delta) <> 0
      ) t
      left join lateral (
        select m.until from ${marks} and m.until >= t.created_at order by m.until limit 1
      ) m on true
    ), numbered as (
      select *, greatest(0, coalesce((select subscribers from youngest where subscribers < ${perMark}), 0)
        + sum(subscribers) over (order by created_at) - subscribers)::bigint / ${perMark} as number
      from found where until is null
    ), placed as (
      select until, created_at as moved, subscribers from found where until is not null
      union all
      select (select until from youngest where number = 0 and subscribers < ${perMark}), max(created_at), sum(subscribers)::bigint
      from numbered group by number
    ), moved as (
      update audience.list_marks m set subscribers = m.subscribers + p.subscribers, until = greatest(m.until, p.moved)
      from (select until, max(moved) as moved, sum(subscribers) as subscribers from placed group by until) p
      where m.environment_id = ${environmentId} and m.until = p.until
    ), made as (
      insert into audience.list_marks (environment_id, until, subscribers)
      select ${environmentId}::bigint, moved, subscribers from placed where until is null
      returning until
    )
    select count(*) as folded from taken
  `;
}
