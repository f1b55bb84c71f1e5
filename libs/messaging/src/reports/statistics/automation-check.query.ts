import { type RawBuilder, sql } from 'kysely';
import type { Database } from '#platform';
import { ALL_TIME } from '../../engagement/automation-counters.repository.js';
import { isKeptFrom, pairs, retentionCutoffs, sums } from './statistics-check.query.js';

/** A number of an automation that is not what its rows say. */
export interface AutomationDiscrepancy {
  readonly automationId: string;
  /** Null: of the whole automation. */
  readonly nodeId: string | null;
  /** Column of the counters, or of a link as `link https://acme.example/ clicked`. */
  readonly counter: string;
  /** The day (UTC) that differs; null: all time. */
  readonly day: Date | null;
  readonly counted: number;
  /** Number by the runs, their steps, their mails and what came of those. */
  readonly actual: number;
}

const AT_MOST = 1_000;

/**
 * Discrepancies between the counters of automations and the rows that they were counted from: the first 1 000 over all projects.
 * Reads all runs, steps, mails of automations and their events; leaves out versions that are older than the rows that are kept.
 */
export function automationDiscrepancies(database: Database): Promise<AutomationDiscrepancy[]> {
  return database.system(async () => {
    const cutoffs = await retentionCutoffs(database);
    // One statement, so one snapshot: steps taken and links clicked meanwhile are in both or in neither.
    const { rows } = await sql<AutomationDiscrepancy>`
      with counted_runs as (${countedRuns}), actual_runs as (${actualRuns}),
        versions as (${versions}),
        mails as materialized (${mailsOfNodes}), actual as materialized (${actualDays}),
        counted_nodes as (${nodesOf(sql`messaging.automation_hours where hour = ${ALL_TIME}`, NODES)}), actual_nodes as (${nodesOf(sql`actual`, NODES)}),
        counted_days as (${countedDays}), actual_days as (${nodesOf(sql`actual`, DAYS, sql`day`)}),
        counted_links as (${countedLinks}), actual_links as (${actualLinks})
      select m.id as automation_id, null as node_id, v.counter, null::timestamptz as day, v.counted, v.actual
      from counted_runs c full join actual_runs a using (environment_id, number)
      join messaging.automations m using (environment_id, number)
      cross join lateral (values ${pairs(RUNS)}) v(counter, counted, actual)
      where v.counted <> v.actual
      union all
      select n.automation_id, ${NODE_ID}, v.counter, null, v.counted, v.actual
      from counted_nodes c full join actual_nodes a using (environment_id, version_id, place)
      join versions n using (environment_id, version_id)
      cross join lateral (values ${pairs(NODES)}) v(counter, counted, actual)
      where v.counted <> v.actual and ${isKept(cutoffs)}
      union all
      select n.automation_id, ${NODE_ID}, v.counter, day, v.counted, v.actual
      from counted_days c full join actual_days a using (environment_id, version_id, place, day)
      join versions n using (environment_id, version_id)
      cross join lateral (values ${pairs(DAYS)}) v(counter, counted, actual)
      where v.counted <> v.actual and ${isKept(cutoffs)}
      union all
      select n.automation_id, ${NODE_ID}, 'link ' || url || ' ' || v.counter, null, v.counted, v.actual
      from counted_links c full join actual_links a using (environment_id, version_id, place, url)
      join versions n using (environment_id, version_id)
      cross join lateral (values ${pairs(LINKS)}) v(counter, counted, actual)
      where v.counted <> v.actual and ${isKept(cutoffs)}
      order by 1, 2, 3, 4 limit ${AT_MOST}
    `.execute(database.tables());
    return rows;
  });
}

const RUNS = ['entered', 'completed', 'converted', 'ended', 'failed'];
const DAYS = [
  'sent',
  'delivered',
  'hard_bounced',
  'soft_bounced',
  'opened',
  'clicked',
  'unsubscribed',
  'complained',
];
const NODES = ['entered', 'departed', 'unique_opens', 'unique_clicks', ...DAYS];
const LINKS = ['clicked', 'unique_clicks'];

const NODE_ID = sql`n.nodes::json -> place::int ->> 'id'`;
const versions = sql`
  select environment_id, id as version_id, automation_id, nodes, created_at from messaging.automation_versions
`;

/** Condition that the rows that a counter counts are all there, by the days from which on they are kept. */
const isKept = (cutoffs: string): RawBuilder<boolean> =>
  isKeptFrom(
    cutoffs,
    sql`case when v.counter in ('entered', 'departed') then 'STEPS' when v.counter in ('sent', 'delivered') then 'DELIVERIES'
      else 'EVENTS' end`,
    sql`(n.created_at at time zone 'UTC')::date`,
  );

const nodesOf = (table: RawBuilder<unknown>, columns: readonly string[], more?: RawBuilder<unknown>) => sql`
  select environment_id, version_id, place, ${more === undefined ? sql`` : sql`${more},`} ${sums(columns)}
  from ${table} group by environment_id, version_id, place ${more === undefined ? sql`` : sql`, ${more}`}
`;

const countedRuns = sql`
  select environment_id, automation_number as number, ${sums(RUNS)} from messaging.automation_counters group by 1, 2
`;
const actualRuns = sql`
  select environment_id, automation_number as number, count(*) as entered,
    count(*) filter (where status in ('COMPLETED', 'CONVERTED')) as completed,
    count(*) filter (where status = 'CONVERTED') as converted,
    count(*) filter (where status in ('FAILED', 'CANCELLED')) as ended, count(*) filter (where status = 'FAILED') as failed
  from messaging.automation_runs group by 1, 2
`;

const countedDays = sql`
  select environment_id, version_id, place, day, ${sums(DAYS)} from (
    select *, date_trunc('day', hour, 'UTC') as day from messaging.automation_hours where hour > ${ALL_TIME}
  ) h group by environment_id, version_id, place, day
`;

const mailsOfNodes = sql`
  select d.environment_id, d.id, r.version_id, messaging.place_of_step(d.source_id)::smallint as place, d.sent_at, d.bounced_at, d.state
  from messaging.deliveries d
  join messaging.automation_runs r on r.id = messaging.run_of_step(d.source_id) and r.environment_id = d.environment_id
  where d.kind = 'AUTOMATION'
`;

const isLook = sql`e.type in ('OPENED', 'CLICKED') and e.classification = 'human'`;

/** A run has come to the nodes of its steps and to that where it is; it is still there while it is active. */
const actualDays = sql`
  select environment_id, version_id, place, null::timestamptz as day, count(*) as entered, count(*) filter (where not is_there) as departed,
    0 as unique_opens, 0 as unique_clicks, ${sql.join(DAYS.map((column) => sql`0 as ${sql.ref(column)}`))}
  from (
    select r.environment_id, r.version_id, s.position as place, r.wake_at is not null and r.position = s.position as is_there
    from messaging.automation_steps s
    join messaging.automation_runs r on r.id = s.run_id and r.environment_id = s.environment_id
    union all
    select r.environment_id, r.version_id, r.position, r.wake_at is not null from messaging.automation_runs r
    where not exists (
      select 1 from messaging.automation_steps s where s.run_id = r.id and s.position = r.position
        and s.entered_on = (r.entered_at at time zone 'UTC')::date and s.environment_id = r.environment_id
    )
  ) s group by 1, 2, 3
  union all
  select environment_id, version_id, place, date_trunc('day', sent_at, 'UTC'), 0, 0, 0, 0, count(*),
    count(*) filter (where bounced_at is null), 0, 0, 0, 0, 0, 0
  from mails where state = 'SENT' group by 1, 2, 3, 4
  union all
  select m.environment_id, m.version_id, m.place, date_trunc('day', e.occurred_at, 'UTC'), 0, 0, 0, 0, 0, 0,
    count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'HARD'),
    count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'SOFT'), count(*) filter (where ${isLook}),
    count(*) filter (where ${isLook} and e.type = 'CLICKED'), count(*) filter (where e.type = 'UNSUBSCRIBED'),
    count(*) filter (where e.type = 'COMPLAINED')
  from messaging.delivery_events e join mails m on m.id = e.delivery_id and m.environment_id = e.environment_id
  where e.campaign_id is null group by 1, 2, 3, 4
  union all
  select m.environment_id, m.version_id, m.place, null, 0, 0, count(distinct e.delivery_id),
    count(distinct e.delivery_id) filter (where e.type = 'CLICKED'), 0, 0, 0, 0, 0, 0, 0, 0
  from messaging.delivery_events e join mails m on m.id = e.delivery_id and m.environment_id = e.environment_id
  where e.campaign_id is null and ${isLook} group by 1, 2, 3
`;

const countedLinks = sql`
  select environment_id, version_id, place, url, ${sums(LINKS)} from messaging.automation_link_counters group by 1, 2, 3, 4
`;
const actualLinks = sql`
  select e.environment_id, s.version_id, s.place, e.url, count(*) as clicked,
    count(distinct (e.delivery_id, e.link_set, e.link_number)) as unique_clicks
  from messaging.delivery_events e join messaging.link_sets s on s.id = e.link_set and s.environment_id = e.environment_id
  where e.campaign_id is null and ${isLook} and e.type = 'CLICKED' group by 1, 2, 3, 4
`;
