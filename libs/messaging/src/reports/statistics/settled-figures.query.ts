import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, environmentOf, keptDay } from '#platform';
import { PARTITION } from '../../deliveries/partition.query.js';

/** Links are counted from clicks, the others from deliveries. */
export type SettledFigures = 'links' | 'providers' | 'languages' | 'domains';

/**
 * What was counted of a campaign before what it was counted from was let go; null while that is kept. Asked for by who has
 * counted, afterwards: of two statements the second sees what was let go during the first.
 */
export async function settledFigures<Figures>(
  database: Database,
  scope: ProjectScope,
  campaignId: string,
  figures: SettledFigures,
): Promise<Figures | null> {
  const kind = figures === 'links' ? 'EVENTS' : 'DELIVERIES';
  const day = await keptDay(database, scope, kind);
  const { rows } = await sql<{ figures: Figures | null }>`
    select f.${sql.ref(figures)} as figures
    from messaging.settled_figures f join messaging.campaigns c
      on c.id = f.campaign_id and c.environment_id = f.environment_id
    where f.campaign_id = ${campaignId} and f.environment_id = ${environmentOf(scope)} and ${PARTITION} < ${day}::date
  `.execute(database.tables());
  return rows[0]?.figures ?? null;
}
