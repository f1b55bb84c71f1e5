import type pg from 'pg';
import { onCoordinator } from './coordinator.js';
import { UnfitDatabaseError } from './unfit-database.error.js';

/** Where the rows of an environment are. */
export interface Isolation {
  /** `host:port` of the node. */
  readonly node: string;
  /** Whether they had a shard to themselves before. */
  readonly wasAlone: boolean;
  /** Whether they were moved to another node. */
  readonly isMoved: boolean;
}

interface Shard {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  readonly isAlone: boolean;
}

/** All tables of environments are colocated, so that one stands for all. */
const TABLE = 'audience.subscribers';

const SHARD = `
  select s.shardid as id, n.nodename as host, n.nodeport as port, s.shardminvalue = s.shardmaxvalue as "isAlone"
  from pg_dist_shard s join pg_dist_placement p using (shardid) join pg_dist_node n using (groupid)
  where s.shardid = get_shard_id_for_distribution_column('${TABLE}', $1::bigint) and n.noderole = 'primary'`;

const ISOLATE = `select isolate_tenant_to_new_shard('${TABLE}', $1::bigint, 'CASCADE', 'block_writes')`;

const MOVE = `select citus_move_shard_placement($1, $2, $3, $4, $5, 'block_writes')`;

/**
 * Gives an environment a shard of its own, and moves it to `node` (`host:port`) where that is named. Whoever writes to the shard
 * that it shared, or to its own, waits meanwhile: Citus copies without waiting only what has a primary key, which the ledger of
 * consents has not. `ownerUrl` is that of the coordinator; safe to repeat. Throws an `UnfitDatabaseError` without Citus, where the
 * tables are not distributed, and for a node that is not of the cluster.
 */
export function isolate(
  ownerUrl: string,
  environmentId: number,
  node: string | undefined,
): Promise<Isolation> {
  return onCoordinator(ownerUrl, async (client) => {
    const target = node === undefined ? undefined : await nodeNamed(client, node);
    const before = await shardOf(client, environmentId);
    if (!before.isAlone) await client.query(ISOLATE, [environmentId]);
    const own = await shardOf(client, environmentId);
    const isMoved = target !== undefined && (target.host !== own.host || target.port !== own.port);
    if (isMoved) await client.query(MOVE, [own.id, own.host, own.port, target.host, target.port]);
    const { host, port } = isMoved ? target : own;
    return { node: `${host}:${port}`, wasAlone: before.isAlone, isMoved };
  });
}

async function shardOf(client: pg.Client, environmentId: number): Promise<Shard> {
  const { rows } = await client.query<Shard>(SHARD, [environmentId]);
  if (rows[0] === undefined)
    throw new UnfitDatabaseError('The tables are not distributed: run `distribute` first.');
  return rows[0];
}

type Node = Pick<Shard, 'host' | 'port'>;

async function nodeNamed(client: pg.Client, name: string): Promise<Node> {
  const { rows } = await client.query<Node>(
    `select nodename as host, nodeport as port from pg_dist_node where isactive and shouldhaveshards order by nodeid`,
  );
  const found = rows.find(({ host, port }) => `${host}:${port}` === name);
  const known = rows.map(({ host, port }) => `${host}:${port}`).join(', ');
  if (found === undefined)
    throw new UnfitDatabaseError(`The cluster has no node ${name} for rows. It has ${known}.`);
  return found;
}
