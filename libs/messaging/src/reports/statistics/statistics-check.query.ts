import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, keptFrom } from '#platform';
import { PARTITION } from '../../deliveries/partition.query.js';

/** A number of a campaign that is not what its rows say. */
export interface CampaignDiscrepancy {
  readonly campaignId: string;
  /** Of the counters, or of one minute of the timeline. */
  readonly counter: string;
  readonly minute: Date | null;
  readonly counted: number;
  /** What the deliveries and events say. */
  readonly actual: number;
}

const AT_MOST = 1_000;

/** Holds the rolled-up counters against what they were rolled up from. */
@Injectable()
export class StatisticsCheckQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /**
   * The first 1 000 discrepancies over all projects; none when all is well. Reads all deliveries and events. Of campaigns whose
   * rows were let go nothing can be said.
   */
  async discrepancies(): Promise<CampaignDiscrepancy[]> {
    return this.database.system(async () => {
      // One statement, so one snapshot: what is sent and clicked meanwhile is in both or in neither.
      const { rows } = await sql<CampaignDiscrepancy>`
        with counted as (${countedTotals}), actual as (${actualTotals}),
          counted_minutes as (${countedMinutes}), actual_minutes as (${actualMinutes})
        select campaign_id, v.counter, null::timestamptz as minute, v.counted, v.actual
        from counted c full join actual a using (campaign_id)
        cross join lateral (values ${pairs(TOTALS)}) v(counter, counted, actual) where v.counted <> v.actual and ${IS_KEPT}
        union all
        select campaign_id, v.counter, minute, v.counted, v.actual
        from counted_minutes c full join actual_minutes a using (campaign_id, minute)
        cross join lateral (values ${pairs(MINUTES)}) v(counter, counted, actual) where v.counted <> v.actual and ${IS_KEPT}
        order by 1, 2, 3 limit ${AT_MOST}
      `.execute(this.database.tables());
      return rows;
    });
  }
}

const TOTALS = [
  'sent',
  'hard_bounced',
  'soft_bounced',
  'opened',
  'unique_opens',
  'clicked',
  'unique_clicks',
  'unsubscribed',
  'complained',
];
const MINUTES = ['sent', 'delivered', 'opened', 'clicked', 'bounced'];

/** Whether all of what `v.counter` of a campaign was counted from is there. */
const IS_KEPT = sql`not exists (
  select 1 from messaging.campaigns c where c.id = campaign_id and ${PARTITION} < case
    when v.counter in ('sent', 'delivered') then ${keptFrom('DELIVERIES', sql.ref('c.environment_id'))}
    else ${keptFrom('EVENTS', sql.ref('c.environment_id'))} end
)`;

const sums = (columns: readonly string[]): RawBuilder<unknown> =>
  sql.join(columns.map((column) => sql`sum(${sql.ref(column)})::bigint as ${sql.ref(column)}`));

const pairs = (columns: readonly string[]): RawBuilder<unknown> =>
  sql.join(
    columns.map(
      (column) =>
        sql`(${sql.lit(column)}, coalesce(c.${sql.ref(column)}, 0), coalesce(a.${sql.ref(column)}, 0))`,
    ),
  );

const countedTotals = sql`select campaign_id, ${sums(TOTALS)} from messaging.campaign_counters group by campaign_id`;

const countedMinutes = sql`
  select campaign_id, minute, ${sums(MINUTES)} from messaging.campaign_minutes group by campaign_id, minute
`;

const isLook = sql`e.type in ('OPENED', 'CLICKED') and e.classification = 'human'`;

const actualTotals = sql`
  select campaign_id, ${sums(TOTALS)} from (
    select d.source_id as campaign_id, count(*) as sent, 0 as hard_bounced, 0 as soft_bounced, 0 as opened, 0 as unique_opens,
      0 as clicked, 0 as unique_clicks, 0 as unsubscribed, 0 as complained
    from messaging.deliveries d where d.kind = 'CAMPAIGN' and d.state = 'SENT' group by d.source_id
    union all
    select e.campaign_id, 0, count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'HARD'),
      count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'SOFT'), count(*) filter (where ${isLook}),
      count(distinct e.delivery_id) filter (where ${isLook}),
      count(*) filter (where ${isLook} and e.type = 'CLICKED'),
      count(distinct e.delivery_id) filter (where ${isLook} and e.type = 'CLICKED'),
      count(*) filter (where e.type = 'UNSUBSCRIBED'), count(*) filter (where e.type = 'COMPLAINED')
    from messaging.delivery_events e where e.campaign_id is not null group by e.campaign_id
  ) r group by campaign_id
`;

const actualMinutes = sql`
  select campaign_id, minute, ${sums(MINUTES)} from (
    select d.source_id as campaign_id, date_trunc('minute', d.sent_at) as minute, count(*) as sent,
      count(*) filter (where d.bounced_at is null) as delivered, 0 as opened, 0 as clicked, 0 as bounced
    from messaging.deliveries d where d.kind = 'CAMPAIGN' and d.state = 'SENT' group by 1, 2
    union all
    select e.campaign_id, date_trunc('minute', e.occurred_at), 0, 0, count(*) filter (where ${isLook}),
      count(*) filter (where ${isLook} and e.type = 'CLICKED'), count(*) filter (where e.type = 'BOUNCED')
    from messaging.delivery_events e where e.campaign_id is not null group by 1, 2
  ) r group by campaign_id, minute
`;
