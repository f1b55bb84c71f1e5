import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, plannedForValues } from '#platform';
import type { VariantCounts } from './campaign-variants.js';

/** Counts of the mails of one variant; null: of the rest, who got the winner. */
export interface VariantFigures extends VariantCounts {
  readonly variant: number | null;
}

/** A campaign's mails, with the partition that they lie in, `2026-03-01`. */
interface CampaignMails {
  readonly id: string;
  readonly queuedOn: string;
}

/** Mails `d` of a campaign; those of its test alone, while the rest wait, without reading those. */
const mailsOf = ({ environmentId }: ProjectScope, { id, queuedOn }: CampaignMails, ofTest: boolean) => sql`
  d.source_id = ${id} and d.kind = 'CAMPAIGN' and d.queued_on = ${queuedOn}::date and d.environment_id = ${environmentId}
  ${ofTest ? sql`and d.variant is not null and d.next_attempt_at < 'infinity'` : sql``}`;

/** Figures of a campaign's mails by variant as far as there are any, the rest last; `ofTest`: while its test runs. */
export async function variantFigures(
  database: Database,
  scope: ProjectScope,
  campaign: CampaignMails,
  ofTest = false,
): Promise<VariantFigures[]> {
  const { id, queuedOn } = campaign;
  const counted = sql<VariantFigures>`
    /* variant_figures */ with answered as materialized (
      select e.delivery_id, bool_or(e.type = 'UNSUBSCRIBED') as unsubscribed, bool_or(e.type = 'COMPLAINED') as complained
      from messaging.delivery_events e
      where e.campaign_id = ${id} and e.environment_id = ${scope.environmentId} and e.type in ('UNSUBSCRIBED', 'COMPLAINED')
        and e.classification = 'human'
      group by e.delivery_id
    ), mails as (
      select d.variant, d.state = 'SENT' as sent, d.state = 'SENT' and d.bounced_at is not null as bounced,
        d.state = 'SENT' and (g.opens > 0 or g.clicks > 0) as opened, d.state = 'SENT' and g.clicks > 0 as clicked,
        g.unsubscribed_at is not null or a.unsubscribed as unsubscribed, g.complained_at is not null or a.complained as complained
      from messaging.deliveries d
      left join messaging.delivery_engagement g
        on g.delivery_id = d.id and g.environment_id = ${scope.environmentId} and g.queued_on = ${queuedOn}::date
          and g.campaign_id = ${id}
      left join answered a on a.delivery_id = d.id
      where ${mailsOf(scope, campaign, ofTest)}
    )
    select variant, count(*) as recipients, count(*) filter (where sent) as sent,
      count(*) filter (where sent and not bounced) as delivered, count(*) filter (where bounced) as bounced,
      count(*) filter (where opened) as opened, count(*) filter (where clicked) as clicked,
      count(*) filter (where unsubscribed) as unsubscribed, count(*) filter (where complained) as complained
    from mails group by variant order by variant
  `;
  const { rows } = await plannedForValues(database, {}, () => counted.execute(database.tables()));
  return rows;
}

/** Nothing yet. */
export const NO_COUNTS: VariantCounts = {
  recipients: 0,
  sent: 0,
  delivered: 0,
  bounced: 0,
  opened: 0,
  clicked: 0,
  unsubscribed: 0,
  complained: 0,
};

/** The counts of so many variants in their order. */
export function countsOfEach(figures: readonly VariantFigures[], variants: number): VariantCounts[] {
  return Array.from({ length: variants }, (_, index) => {
    const { variant: _variant, ...counts } = figures.find(({ variant }) => variant === index + 1) ?? {
      variant: null,
      ...NO_COUNTS,
    };
    return counts;
  });
}

/**
 * The moment at which 95 % of the test's mails had ended, left or given up; null while more of them are open, `none` when nobody
 * is in the test.
 */
export async function settledTest(
  database: Database,
  scope: ProjectScope,
  campaign: CampaignMails,
): Promise<Date | null | 'none'> {
  const { rows } = await sql<{ mails: number; settledAt: Date | null }>`
    /* settled_test */ select count(*) as mails,
      nullif(percentile_disc(0.95) within group (order by coalesce(d.finished_at, 'infinity')), 'infinity') as settled_at
    from messaging.deliveries d where ${mailsOf(scope, campaign, true)}
  `.execute(database.tables());
  const { mails = 0, settledAt = null } = rows[0] ?? {};
  return mails === 0 ? 'none' : settledAt;
}
