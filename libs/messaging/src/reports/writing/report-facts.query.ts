import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, keptDay } from '#platform';
import { PARTITION } from '../../deliveries/campaign-front.query.js';
import { type CampaignCounts, countsOf } from '../statistics/campaign-statistics.js';
import { SENT_SUBJECT } from '../../campaigns/campaign-contents.query.js';
import { IS_TRACKED } from '../../engagement/link-sets.service.js';
import { COUNTED_CAMPAIGNS } from '../statistics/campaign-statistics.query.js';
import { domainFigures } from '../statistics/campaign-figures.query.js';
import { linkClicks } from '../statistics/campaign-links.query.js';
import {
  GROWN_UP_MS,
  type HourFacts,
  type LinkClicks,
  MOST_COMPARED,
  MOST_LISTED,
  OPENS_DUE_MS,
  type PastCampaign,
  type ReportFacts,
} from '../statistics/report-facts.js';

interface CampaignRow extends CampaignCounts {
  readonly id: string;
  readonly name: string;
  readonly subject: string;
  readonly isTracked: boolean;
  readonly queuedAt: Date;
  readonly queuedOn: string;
  /** Null before the first mail. */
  readonly firstSentAt: Date | null;
}

interface PastRow extends Pick<CampaignRow, 'id' | 'name' | 'isTracked' | 'firstSentAt'>, CampaignCounts {
  /** True when its events are all there. */
  readonly isKept: boolean;
}

/** Circumstances of a report. */
interface ReportTime {
  readonly now: Date;
  /** False where the installation tracks nobody. */
  readonly canTrack: boolean;
}

/**
 * Facts that a campaign's report is made from: one statement for each kind, and nothing about a person. Null when the campaign is
 * gone or was never sent.
 */
export function reportFacts(
  database: Database,
  scope: ProjectScope,
  campaignId: string,
  { now, canTrack }: ReportTime,
): Promise<ReportFacts | null> {
  return database.transaction(scope, async () => {
    const campaign = await campaignRow(database, scope, campaignId);
    if (campaign === null) return null;
    const isTracked = campaign.isTracked && canTrack;
    const { domains, arrivals } = await domainFigures(database, scope, campaign);
    const ageMs = now.getTime() - (campaign.firstSentAt ?? campaign.queuedAt).getTime();
    const isEarly = ageMs < GROWN_UP_MS;
    const past = await history(database, scope, campaign);
    return {
      campaign: { name: campaign.name, subject: campaign.subject },
      isTracked,
      isEarly,
      areOpensDue: ageMs >= OPENS_DUE_MS,
      counts: countsOf(campaign),
      history: isEarly ? await atAge(database, scope, past, ageMs) : past.map(pastCampaign),
      links: isTracked ? await links(database, scope, campaign.id) : [],
      clickers: campaign.uniqueClicks,
      hours: isTracked ? await hours(database, scope, campaignId) : [],
      domains,
      arrivals,
    };
  });
}

async function campaignRow(
  database: Database,
  scope: ProjectScope,
  campaignId: string,
): Promise<CampaignRow | null> {
  const { rows } = await sql<CampaignRow>`
    select c.id, c.name, ${SENT_SUBJECT} as subject, ${IS_TRACKED} as is_tracked, c.queued_at,
      (c.queued_at at time zone 'UTC')::date as queued_on, n.*
    from ${COUNTED_CAMPAIGNS}
    where c.environment_id = ${scope.environmentId} and c.id = ${campaignId} and c.queued_at is not null
      and c.deleted_at is null
  `.execute(database.tables());
  return rows[0] ?? null;
}

/** The campaigns that were queued before it, the latest first. */
async function history(database: Database, scope: ProjectScope, campaign: CampaignRow): Promise<PastRow[]> {
  const day = await keptDay(database, scope, 'EVENTS');
  const { rows } = await sql<PastRow>`
    select c.id, c.name, ${IS_TRACKED} as is_tracked, n.*, ${PARTITION} >= ${day}::date as is_kept
    from ${COUNTED_CAMPAIGNS}
    where c.environment_id = ${scope.environmentId} and c.queued_at < ${campaign.queuedAt} and c.id <> ${campaign.id}
      and c.deleted_at is null and n.total_sent > 0
    order by c.queued_at desc limit ${MOST_COMPARED}
  `.execute(database.tables());
  return rows;
}

function pastCampaign(row: PastRow): PastCampaign {
  return { name: row.name, isTracked: row.isTracked, counts: countsOf(row) };
}

/**
 * The campaigns as they stood `ageMs` after their first mail, counted from their events as the statistics define it: an hour's
 * results are not compared with those of weeks. Campaigns whose events were let go are left out.
 */
async function atAge(
  database: Database,
  scope: ProjectScope,
  past: readonly PastRow[],
  ageMs: number,
): Promise<PastCampaign[]> {
  const moments = past.flatMap(({ id, firstSentAt, isKept }) =>
    firstSentAt === null || !isKept
      ? []
      : [{ id, from: firstSentAt, until: new Date(firstSentAt.getTime() + ageMs) }],
  );
  const isLook = sql`e.type in ('OPENED', 'CLICKED') and e.classification = 'human'`;
  const { rows } = await sql<CampaignCounts & { readonly id: string }>`
    select p.id, s.sent as total_sent, k.*
    from jsonb_to_recordset(${JSON.stringify(moments)}::jsonb) as p(id uuid, "from" timestamptz, until timestamptz)
    cross join lateral (
      select coalesce(sum(m.sent), 0)::bigint as sent from messaging.campaign_minutes m
      where m.campaign_id = p.id and m.environment_id = ${scope.environmentId} and m.minute <= p.until
    ) s
    cross join lateral (
      select count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'HARD') as hard_bounced,
        count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'SOFT') as soft_bounced,
        count(*) filter (where ${isLook}) as total_opened,
        count(distinct e.delivery_id) filter (where ${isLook}) as unique_opens,
        count(*) filter (where ${isLook} and e.type = 'CLICKED') as total_clicked,
        count(distinct e.delivery_id) filter (where ${isLook} and e.type = 'CLICKED') as unique_clicks,
        count(*) filter (where e.type = 'UNSUBSCRIBED') as total_unsubscribed,
        count(*) filter (where e.type = 'COMPLAINED') as spam_complaints
      from messaging.delivery_events e
      where e.campaign_id = p.id and e.environment_id = ${scope.environmentId} and e.occurred_at between p."from" and p.until
    ) k
  `.execute(database.tables());
  const counts = new Map(rows.map((row) => [row.id, countsOf(row)]));
  return past.flatMap((row) => {
    const then = counts.get(row.id);
    return then === undefined || then.totalSent === 0 ? [] : [{ ...pastCampaign(row), counts: then }];
  });
}

async function links(
  database: Database,
  scope: ProjectScope,
  campaignId: string,
): Promise<readonly LinkClicks[]> {
  const all = await linkClicks(database, scope, campaignId);
  return all.length <= MOST_LISTED ? all : [...all.slice(0, MOST_LISTED - 1), ...all.slice(-1)];
}

async function hours(database: Database, scope: ProjectScope, campaignId: string): Promise<HourFacts[]> {
  const { rows } = await sql<HourFacts>`
    select extract(hour from minute at time zone 'UTC')::int as hour, sum(opened)::bigint as opens
    from messaging.campaign_minutes
    where environment_id = ${scope.environmentId} and campaign_id = ${campaignId}
    group by 1 having sum(opened) > 0 order by 1
  `.execute(database.tables());
  return rows;
}
