import { type RawBuilder, sql } from 'kysely';
import { matchLocale, type ProjectScope } from '#kernel';
import { type Database, keptDay, plannedForValues } from '#platform';
import { type Arrivals, type DomainFacts, FEWEST_MAILS_OF_DOMAIN, MOST_LISTED } from './report-facts.js';
import { type VariantFigures, variantFigures } from '../../campaigns/variant-figures.query.js';
import { PARTITION } from '../../deliveries/campaign-front.query.js';

/** Results of mails. */
interface MailFigures {
  readonly sent: number;
  readonly delivered: number;
  readonly bounced: number;
  /** Mails that somebody opened; a click counts as an open. */
  readonly opened: number;
  readonly clicked: number;
}

/** Results of a campaign's mails to one mailbox provider, the domain of the address. */
export interface ProviderFigures extends MailFigures {
  /** Null for all the providers together that are not named. */
  readonly domain: string | null;
}

/** Place of a campaign's mails. */
interface CampaignMails {
  readonly id: string;
  /** `2026-03-01`: the partition of the deliveries. */
  readonly queuedOn: string;
}

/** The largest providers; the others are told together. */
const MOST_NAMED = 12;

/**
 * The providers of a campaign, the largest first. One with fewer than `fewest` of its mails is not named: it might be one
 * person's own. The others come last, together.
 */
export async function providerFigures(
  database: Database,
  scope: ProjectScope,
  campaign: CampaignMails,
  fewest: number,
): Promise<ProviderFigures[]> {
  const counted = sql<ProviderFigures>`
    with counted(domain, sent, bounced, opened, clicked) as (
      ${figuresBy(sql`split_part(d.address_key, '@', 2)`, scope, campaign)}
    ), ranked as (
      select *, case when sent >= ${fewest} and domain <> ''
          and row_number() over (order by domain = '', sent desc, domain) <= ${MOST_NAMED} then domain end as name
      from counted
    )
    select name as domain, sum(sent)::bigint as sent, (sum(sent) - sum(bounced))::bigint as delivered,
      sum(bounced)::bigint as bounced, sum(opened)::bigint as opened, sum(clicked)::bigint as clicked
    from ranked group by name order by name is null, sum(ranked.sent) desc, name
  `;
  const { rows } = await plannedForValues(database, {}, () => counted.execute(database.tables()));
  return (await settledFigures<ProviderFigures[]>(database, scope, campaign.id, 'providers')) ?? rows;
}

/** SELECT of a campaign's sent mails by a `key` of each delivery `d`: key, sent, bounced, opened, clicked. */
function figuresBy(
  key: RawBuilder<unknown>,
  scope: ProjectScope,
  { id, queuedOn }: CampaignMails,
): RawBuilder<unknown> {
  return sql`
    select ${key}, count(*), count(d.bounced_at), count(*) filter (where g.opens > 0 or g.clicks > 0),
      count(*) filter (where g.clicks > 0)
    from messaging.deliveries d
    left join messaging.delivery_engagement g
      on g.delivery_id = d.id and g.environment_id = d.environment_id and g.queued_on = ${queuedOn}::date
        and g.campaign_id = ${id}
    where d.source_id = ${id} and d.queued_on = ${queuedOn}::date and d.environment_id = ${scope.environmentId}
      and d.kind = 'CAMPAIGN' and d.state = 'SENT'
    group by 1
  `;
}

/** Results of a campaign's mails in one language. */
export interface LanguageFigures extends MailFigures {
  /** Locale of the translation; null: the campaign's own content. */
  readonly locale: string | null;
}

/** A campaign, with the locales of its translations. */
export interface TranslatedMails extends CampaignMails {
  readonly translations: readonly string[];
}

/** The languages that a campaign was sent in, the most read first; none of a campaign without translations. */
export async function languageFigures(
  database: Database,
  scope: ProjectScope,
  campaign: TranslatedMails,
): Promise<LanguageFigures[]> {
  if (campaign.translations.length === 0) return [];
  const counted = sql<LanguageFigures>`
    select locale, sent, sent - bounced as delivered, bounced, opened, clicked
    from (${figuresBy(sql`d.locale`, scope, campaign)}) f(locale, sent, bounced, opened, clicked)
  `;
  const { rows } = await plannedForValues(database, {}, () => counted.execute(database.tables()));
  const settled = await settledFigures<LanguageFigures[]>(database, scope, campaign.id, 'languages');
  if (settled !== null) return settled;
  const sentIn = Map.groupBy(rows, ({ locale }) => matchLocale([locale], campaign.translations));
  return [...sentIn]
    .map(([locale, figures]) => ({ locale, ...sumOf(figures) }))
    .sort((one, other) => other.sent - one.sent || (nameOf(one) < nameOf(other) ? -1 : 1));
}

/** The campaign's own content comes last. */
const nameOf = ({ locale }: LanguageFigures): string => locale ?? '~';

function sumOf(figures: readonly MailFigures[]): MailFigures {
  const sum = { sent: 0, delivered: 0, bounced: 0, opened: 0, clicked: 0 };
  const names = Object.keys(sum) as (keyof MailFigures)[];
  for (const one of figures) for (const name of names) sum[name] += one[name];
  return sum;
}

/** The results of a campaign's variants; none of one without. */
export async function settledVariants(
  database: Database,
  scope: ProjectScope,
  campaign: CampaignMails & { readonly variants: number },
): Promise<VariantFigures[]> {
  if (campaign.variants === 0) return [];
  const figures = await variantFigures(database, scope, campaign);
  return (await settledFigures<VariantFigures[]>(database, scope, campaign.id, 'variants')) ?? figures;
}

/** Mails of a campaign that arrived or not, by mailbox provider and together. */
interface DomainFigures {
  readonly domains: DomainFacts[];
  readonly arrivals: Arrivals;
}

export async function domainFigures(
  database: Database,
  scope: ProjectScope,
  { id, queuedOn }: CampaignMails,
): Promise<DomainFigures> {
  const counted = sql<DomainFacts & { readonly allMails: number; readonly allUndelivered: number }>`
    with counted as (
      select split_part(d.address_key, '@', 2) as domain, count(*) as mails,
        count(*) filter (where d.state = 'FAILED' or d.bounced_at is not null) as undelivered
      from messaging.deliveries d
      where d.source_id = ${id} and d.queued_on = ${queuedOn}::date and d.environment_id = ${scope.environmentId}
        and d.kind = 'CAMPAIGN' and d.state in ('SENT', 'FAILED')
      group by 1
    )
    select domain, mails, undelivered, (sum(mails) over ())::bigint as all_mails,
      (sum(undelivered) over ())::bigint as all_undelivered
    from counted order by mails desc, domain limit ${MOST_LISTED}
  `;
  const { rows } = await plannedForValues(database, {}, () => counted.execute(database.tables()));
  const arrivals = { mails: rows[0]?.allMails ?? 0, undelivered: rows[0]?.allUndelivered ?? 0 };
  const domains = rows
    .filter(({ domain, mails }) => domain !== '' && mails >= FEWEST_MAILS_OF_DOMAIN)
    .map(({ domain, mails, undelivered }) => ({ domain, mails, undelivered }));
  return (await settledFigures<DomainFigures>(database, scope, id, 'domains')) ?? { domains, arrivals };
}

/** Figures by their column, which are counted from deliveries. */
export type SettledFigures = 'providers' | 'languages' | 'variants' | 'domains';

/**
 * Figures that were counted before the rows behind them were let go; null while those are kept. Asked for after the count: of
 * two statements the second sees rows that were let go during the first.
 */
async function settledFigures<Figures>(
  database: Database,
  scope: ProjectScope,
  campaignId: string,
  figures: SettledFigures,
): Promise<Figures | null> {
  const day = await keptDay(database, scope, 'DELIVERIES');
  const { rows } = await sql<{ figures: Figures | null }>`
    select f.${sql.ref(figures)} as figures
    from messaging.settled_figures f join messaging.campaigns c
      on c.id = f.campaign_id and c.environment_id = f.environment_id
    where f.campaign_id = ${campaignId} and f.environment_id = ${scope.environmentId} and ${PARTITION} < ${day}::date
  `.execute(database.tables());
  return rows[0]?.figures ?? null;
}
