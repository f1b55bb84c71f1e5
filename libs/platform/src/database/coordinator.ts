import pg from 'pg';
import { MIGRATIONS_LOCK } from './migrations.js';
import { UnfitDatabaseError } from './unfit-database.error.js';

/**
 * Runs `work` as the owner of the coordinator of a Citus cluster, while nobody else changes the schema or moves rows between nodes.
 * Throws an `UnfitDatabaseError` without Citus.
 */
export async function onCoordinator<T>(
  ownerUrl: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'mailwright-distribute' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rowCount } = await client.query(`select 1 from pg_extension where extname = 'citus'`);
    if (rowCount === 0)
      throw new UnfitDatabaseError(
        'The database has no Citus: install it on each node, and run `create extension citus`.',
      );
    await client.query(`select pg_advisory_lock(${MIGRATIONS_LOCK})`);
    return await work(client);
  } finally {
    await client.end();
  }
}
