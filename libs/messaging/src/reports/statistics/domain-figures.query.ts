import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, isOf } from '#platform';
import type { CampaignMails } from './provider-figures.query.js';
import { type Arrivals, type DomainFacts, FEWEST_MAILS_OF_DOMAIN, MOST_LISTED } from './report-facts.js';
import { settledFigures } from './settled-figures.query.js';

/** Which mails of a campaign arrived, by mailbox provider and together. */
export interface DomainFigures {
  readonly domains: DomainFacts[];
  readonly arrivals: Arrivals;
}

export async function domainFigures(
  database: Database,
  scope: ProjectScope,
  { id, queuedOn }: CampaignMails,
): Promise<DomainFigures> {
  const { rows } = await sql<DomainFacts & { readonly allMails: number; readonly allUndelivered: number }>`
    with counted as (
      select split_part(d.address_key, '@', 2) as domain, count(*) as mails,
        count(*) filter (where d.state = 'FAILED' or d.bounced_at is not null) as undelivered
      from messaging.deliveries d
      where d.source_id = ${id} and d.queued_on = ${queuedOn}::date and ${isOf(scope, sql`d.environment_id`)}
        and d.kind = 'CAMPAIGN' and d.state in ('SENT', 'FAILED')
      group by 1
    )
    select domain, mails, undelivered, (sum(mails) over ())::bigint as all_mails,
      (sum(undelivered) over ())::bigint as all_undelivered
    from counted order by mails desc, domain limit ${MOST_LISTED}
  `.execute(database.tables());
  const arrivals = { mails: rows[0]?.allMails ?? 0, undelivered: rows[0]?.allUndelivered ?? 0 };
  const domains = rows
    .filter(({ domain, mails }) => domain !== '' && mails >= FEWEST_MAILS_OF_DOMAIN)
    .map(({ domain, mails, undelivered }) => ({ domain, mails, undelivered }));
  return (await settledFigures<DomainFigures>(database, scope, id, 'domains')) ?? { domains, arrivals };
}
