import type pg from 'pg';
import { type PoolOptions, poolOf } from './connection-pool.js';

/**
 * Runs `work` of the system on a connection of its own that has its role from the beginning. Nodes of a cluster are told
 * the role of a transaction, so that in one no function changes their tables as its owner. When this resolves, the
 * connection is closed and holds no lock.
 */
export async function onOwnConnection<T>(
  options: PoolOptions,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const pool = poolOf(options, 1, [], 'mailwright_system');
  const client = await pool.connect();
  const closed = new Promise<void>((resolve) => {
    client.once('end', resolve);
  });
  try {
    return await work(client);
  } finally {
    client.release(true);
    await closed;
    await pool.end();
  }
}
