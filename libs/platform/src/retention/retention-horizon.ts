import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '../database/database.js';

/** What is let go by the same day: mails, the steps of automations, events. */
export type RetentionKind = 'DELIVERIES' | 'STEPS' | 'EVENTS';

/** The day, `YYYY-MM-DD`, from which on rows of an environment are kept; `-infinity` when nothing was let go. */
export const keptFrom = (kind: RetentionKind, environmentId: unknown): RawBuilder<string> =>
  sql<string>`platform.kept_from(${kind}, ${environmentId})`;

/** The same, asked in the open transaction before it is compared with rows: the node of the rows does not know the day. */
export async function keptDay(
  database: Database,
  { environmentId }: Pick<ProjectScope, 'environmentId'>,
  kind: RetentionKind,
): Promise<string> {
  const { rows } = await sql<{ day: string }>`select ${keptFrom(kind, environmentId)} as day`.execute(
    database.tables(),
  );
  return rows[0]!.day;
}
