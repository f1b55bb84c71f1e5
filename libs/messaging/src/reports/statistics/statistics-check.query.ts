import { type RawBuilder, sql } from 'kysely';
import type { Database } from '#platform';
import { PARTITION } from '../../deliveries/campaign-front.query.js';

/** A number of a campaign that is not what its rows say. */
export interface CampaignDiscrepancy {
  /** Zeros: the hours of all automations. */
  readonly campaignId: string;
  /** Column of the counters, of a minute of the timeline, as `hour sent` of an hour, or as `link 12/3 clicked` of a link: its set and number. */
  readonly counter: string;
  /** Beginning of the minute or the hour. */
  readonly minute: Date | null;
  readonly counted: number;
  /** Number by the deliveries and events. */
  readonly actual: number;
}

const AT_MOST = 1_000;

/**
 * Discrepancies between the rolled-up counters and the rows that they were rolled up from: the first 1 000 over all projects. Reads
 * all deliveries and events, and leaves out campaigns whose rows were let go.
 */
export function statisticsDiscrepancies(database: Database): Promise<CampaignDiscrepancy[]> {
  return database.system(async () => {
    const cutoffs = await retentionCutoffs(database);
    // One statement, so one snapshot: mails sent and links clicked meanwhile are in both or in neither.
    const { rows } = await sql<CampaignDiscrepancy>`
      with counted as (${countedTotals}), actual as (${actualTotals}),
        counted_minutes as (${countedMinutes}), actual_minutes as (${actualMinutes}),
        counted_hours as (${countedHours}), actual_hours as (${actualHours}),
        counted_links as (${countedLinks}), actual_links as (${actualLinks})
      select campaign_id, v.counter, null::timestamptz as minute, v.counted, v.actual
      from counted c full join actual a using (environment_id, campaign_id)
      cross join lateral (values ${pairs(TOTALS)}) v(counter, counted, actual)
      where v.counted <> v.actual and ${isKept(cutoffs)}
      union all
      select campaign_id, v.counter, minute, v.counted, v.actual
      from counted_minutes c full join actual_minutes a using (environment_id, campaign_id, minute)
      cross join lateral (values ${pairs(MINUTES)}) v(counter, counted, actual)
      where v.counted <> v.actual and ${isKept(cutoffs)}
      union all
      select campaign_id, 'hour ' || v.counter, hour, v.counted, v.actual
      from counted_hours c full join actual_hours a using (environment_id, campaign_id, hour)
      cross join lateral (values ${pairs(HOURS)}) v(counter, counted, actual)
      where v.counted <> v.actual and ${isKept(cutoffs)}
      union all
      select campaign_id, 'link ' || link_set || '/' || link_number || ' ' || v.counter, null, v.counted, v.actual
      from counted_links c full join actual_links a using (environment_id, campaign_id, link_set, link_number)
      cross join lateral (values ${pairs(LINKS)}) v(counter, counted, actual)
      where v.counted <> v.actual and ${isKept(cutoffs)}
      order by 1, 2, 3 limit ${AT_MOST}
    `.execute(database.tables());
    return rows;
  });
}

/** The first days kept of each kind: of all environments, and of one by its id. */
export async function retentionCutoffs(database: Database): Promise<string> {
  const { rows } = await sql<{ cutoffs: string }>`
    select coalesce(jsonb_object_agg(kind, days), '{}')::text as cutoffs from (
      select kind, jsonb_object_agg(coalesce(environment_id::text, 'all'), kept_from) as days
      from platform.retention_horizons group by kind
    ) h
  `.execute(database.tables());
  return rows[0]!.cutoffs;
}

const TOTALS =
  'sent hard_bounced soft_bounced opened unique_opens clicked unique_clicks unsubscribed complained'.split(
    ' ',
  );
const LINKS = ['clicked', 'unique_clicks'];
const MINUTES = ['sent', 'delivered', 'opened', 'clicked', 'bounced'];

const HOURS =
  'sent delivered opened unique_opens clicked unique_clicks hard_bounced soft_bounced unsubscribed complained'.split(
    ' ',
  );

/** Condition that the rows that a counter counts are all there, by the days from which on they are kept. */
const isKept = (cutoffs: string): RawBuilder<boolean> =>
  isKeptFrom(
    cutoffs,
    sql`case when v.counter in ('sent', 'delivered') then 'DELIVERIES' else 'EVENTS' end`,
    sql`c.queued_on`,
  );

/** Condition that rows of a kind are kept since a day, or that the day is null. */
export function isKeptFrom(
  cutoffs: string,
  kind: RawBuilder<unknown>,
  day: RawBuilder<unknown>,
): RawBuilder<boolean> {
  const days = sql`${cutoffs}::jsonb -> ${kind}`;
  return sql`(
    ${day} < greatest((${days} ->> 'all')::date, (${days} ->> environment_id::text)::date)
  ) is not true`;
}

export const sums = (columns: readonly string[]): RawBuilder<unknown> =>
  sql.join(columns.map((column) => sql`sum(${sql.ref(column)})::bigint as ${sql.ref(column)}`));

export const pairs = (columns: readonly string[]): RawBuilder<unknown> =>
  sql.join(
    columns.map(
      (column) =>
        sql`(${sql.lit(column)}, coalesce(c.${sql.ref(column)}, 0), coalesce(a.${sql.ref(column)}, 0))`,
    ),
  );

const counted = (
  table: string,
  key: RawBuilder<unknown>,
  columns: readonly string[],
): RawBuilder<unknown> => sql`
  select k.environment_id, ${key}, max(${PARTITION}) as queued_on, ${sums(columns)}
  from ${sql.table(table)} k
  left join messaging.campaigns c on c.id = k.campaign_id and c.environment_id = k.environment_id
  group by k.environment_id, ${key}
`;
const countedTotals = counted('messaging.campaign_counters', sql`k.campaign_id`, TOTALS);

const countedMinutes = counted('messaging.campaign_minutes', sql`k.campaign_id, k.minute`, MINUTES);
/** All automations, in place of a campaign. Their hours are compared only while all mails and events are kept. */
const AUTOMATIONS = sql`'00000000-0000-0000-0000-000000000000'::uuid`;

/** Hours by campaign alone: of a mail that went to an erased person the provider is not known any more. */
const countedHours = sql`
  select h.environment_id, h.campaign_id, h.hour, ${sums(HOURS)},
    case when h.campaign_id = ${AUTOMATIONS} then '-infinity' else max(${PARTITION}) end as queued_on
  from messaging.mail_hours h
  left join messaging.campaigns c on c.id = h.campaign_id and c.environment_id = h.environment_id
  group by h.environment_id, h.campaign_id, h.hour
`;
const countedLinks = counted('messaging.link_counters', sql`k.campaign_id, k.link_set, k.link_number`, LINKS);
const isLook = sql`e.type in ('OPENED', 'CLICKED') and e.classification = 'human'`;

const actualTotals = sql`
  select environment_id, campaign_id, ${sums(TOTALS)} from (
    select d.environment_id, d.source_id as campaign_id, count(*) as sent, 0 as hard_bounced, 0 as soft_bounced, 0 as opened,
      0 as unique_opens, 0 as clicked, 0 as unique_clicks, 0 as unsubscribed, 0 as complained
    from messaging.deliveries d where d.kind = 'CAMPAIGN' and d.state = 'SENT' group by 1, 2
    union all
    select e.environment_id, e.campaign_id, 0, count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'HARD'),
      count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'SOFT'), count(*) filter (where ${isLook}),
      count(distinct e.delivery_id) filter (where ${isLook}),
      count(*) filter (where ${isLook} and e.type = 'CLICKED'),
      count(distinct e.delivery_id) filter (where ${isLook} and e.type = 'CLICKED'),
      count(*) filter (where e.type = 'UNSUBSCRIBED'), count(*) filter (where e.type = 'COMPLAINED')
    from messaging.delivery_events e where e.campaign_id is not null group by 1, 2
  ) r group by environment_id, campaign_id
`;

const actualMinutes = sql`
  select environment_id, campaign_id, minute, ${sums(MINUTES)} from (
    select d.environment_id, d.source_id as campaign_id, date_trunc('minute', d.sent_at) as minute, count(*) as sent,
      count(*) filter (where d.bounced_at is null) as delivered, 0 as opened, 0 as clicked, 0 as bounced
    from messaging.deliveries d where d.kind = 'CAMPAIGN' and d.state = 'SENT' group by 1, 2, 3
    union all
    select e.environment_id, e.campaign_id, date_trunc('minute', e.occurred_at), 0, 0, count(*) filter (where ${isLook}),
      count(*) filter (where ${isLook} and e.type = 'CLICKED'), count(*) filter (where e.type = 'BOUNCED')
    from messaging.delivery_events e where e.campaign_id is not null group by 1, 2, 3
  ) r group by environment_id, campaign_id, minute
`;

const hourOf = (column: string) => sql`date_trunc('hour', ${sql.ref(column)}, 'UTC')`;

const actualHours = sql`
  select environment_id, campaign_id, hour, ${sums(HOURS)} from (
    select d.environment_id, case when d.kind = 'CAMPAIGN' then d.source_id else ${AUTOMATIONS} end as campaign_id, ${hourOf('d.sent_at')} as hour, count(*) as sent,
      count(*) filter (where d.bounced_at is null) as delivered, 0 as opened, 0 as unique_opens, 0 as clicked, 0 as unique_clicks,
      0 as hard_bounced, 0 as soft_bounced, 0 as unsubscribed, 0 as complained
    from messaging.deliveries d where d.kind in ('CAMPAIGN', 'AUTOMATION') and d.state = 'SENT' group by 1, 2, 3
    union all
    select e.environment_id, coalesce(e.campaign_id, ${AUTOMATIONS}), ${hourOf('e.occurred_at')}, 0, 0, count(*) filter (where ${isLook}), 0,
      count(*) filter (where ${isLook} and e.type = 'CLICKED'), 0,
      count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'HARD'),
      count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'SOFT'),
      count(*) filter (where e.type = 'UNSUBSCRIBED'), count(*) filter (where e.type = 'COMPLAINED')
    from messaging.delivery_events e group by 1, 2, 3
    union all
    select environment_id, campaign_id, ${hourOf('l.first_at')}, 0, 0, 0, (l.type = 'OPENED')::int, 0, (l.type = 'CLICKED')::int, 0, 0, 0, 0
    from (
      select e.environment_id, coalesce(e.campaign_id, ${AUTOMATIONS}) as campaign_id, e.delivery_id, t.type, min(e.occurred_at) as first_at
      from messaging.delivery_events e cross join (values ('OPENED'), ('CLICKED')) t(type)
      where ${isLook} and (e.type = 'CLICKED' or t.type = 'OPENED')
      group by 1, 2, 3, 4
    ) l
  ) r group by environment_id, campaign_id, hour
`;

const actualLinks = sql`
  select environment_id, campaign_id, link_set, link_number, count(*) as clicked, count(distinct delivery_id) as unique_clicks
  from messaging.delivery_events e
  where e.campaign_id is not null and e.link_number is not null and ${isLook} and e.type = 'CLICKED'
  group by environment_id, campaign_id, link_set, link_number
`;
