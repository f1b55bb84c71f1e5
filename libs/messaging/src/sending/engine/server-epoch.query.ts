import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, environmentOf } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';

type OfEnvironment = Pick<ProjectScope, 'environmentId'>;

/** The present epoch of an environment's server, 0 until one has begun: see `messaging.server_epoch`. */
export const epochOf = (scope: OfEnvironment) => sql<number>`
  coalesce((select e.epoch from messaging.server_epoch e where e.environment_id = ${environmentOf(scope)}), 0)
`;

/** Begins an epoch, if none has begun since the server was made or recovered: those who claim after this can rely on it. */
export async function beginEpoch(database: Database, { environmentId }: OfEnvironment): Promise<void> {
  await database
    .tables<MessagingTables>()
    .insertInto('messaging.server_epoch')
    .values({
      environmentId,
      epoch: sql`(extract(epoch from clock_timestamp()) * 1000000)::bigint`,
    })
    .onConflict((conflict) => conflict.column('environmentId').doNothing())
    .execute();
}
