import pg from 'pg';
import { UnfitDatabaseError } from './database-failure.js';
import { MIGRATIONS_LOCK } from './migrations.js';

/**
 * Count of a tenant's subscribers, in one live environment after the other: on Citus, where nodes see the environment of the
 * transaction, the one statement of a single PostgreSQL would count its own environment alone.
 */
export const COUNTING_EACH_ENVIRONMENT = `
  create or replace function access.live_environments_of_tenant() returns setof bigint
    language sql stable security definer set search_path = pg_catalog as $$
    select e.id from access.projects p
    join access.project_environments e on e.project_id = p.id and e.environment = 'LIVE'
    where p.tenant_id = platform.tenant_id()
  $$;
  comment on function access.live_environments_of_tenant is
    'The live environments of all projects of the scope''s tenant. By definer''s rights: '
    'a scope sees only its own project''s row.';
  revoke all on function access.live_environments_of_tenant from public;
  grant execute on function access.live_environments_of_tenant to mailwright_app;

  create or replace function audience.live_subscribers_of_tenant() returns bigint language plpgsql as $$
  declare
    own text := current_setting('mailwright.environment_id');
    environment bigint;
    counted bigint;
    total bigint := 0;
  begin
    for environment in select * from access.live_environments_of_tenant() loop
      execute format('set local mailwright.environment_id = %L', environment);
      select coalesce(sum(v.value), 0) into counted
      from audience.counter_values v where v.environment_id = environment and v.kind = 'SUBSCRIBERS';
      total := total + counted;
    end loop;
    execute format('set local mailwright.environment_id = %L', own);
    return total;
  end $$`;

/**
 * Runs `work` as the owner of a Citus cluster's coordinator, while nobody else changes the schema or moves rows between nodes.
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

/** Result of `distribute` for the tables of an installation. */
export interface Distribution {
  /** Tables whose rows are spread by their environment from now on. */
  readonly distributed: readonly string[];
  /** Tables that were spread before. */
  readonly unchanged: readonly string[];
  /** Tables of the whole installation, which stay on the coordinator. */
  readonly local: readonly string[];
}

interface Table {
  readonly name: string;
  /** Each row belongs to an environment. */
  readonly isOfEnvironments: boolean;
  readonly isDistributed: boolean;
  /** A crash empties it anyway. */
  readonly isUnlogged: boolean;
  /** The tables that its foreign keys name, which must be distributed before it. */
  readonly refersTo: readonly string[];
}

/** Tables of few rows, the owners of environments, which each node has as a whole. */
const COPIED_TABLES = ['access.tenants', 'access.projects', 'access.project_environments'];
const COPYING = `select create_reference_table($1)
  where not exists (select 1 from pg_dist_partition where logicalrelid = $1::regclass and repmodel = 't')`;
/** Citus locks a copied table only for a role that may write to it. No policy lets the app delete a row of these. */
const LOCKING = 'grant delete on access.tenants, access.projects to mailwright_app';
/**
 * Makes Citus know a table of the coordinator: a transaction that writes to it and on a node is then committed on both or
 * neither.
 */
const TELLING = `select citus_add_local_table_to_metadata($1, true)
  where not exists (select 1 from pg_dist_partition where logicalrelid = $1::regclass and not autoconverted)`;

/** Last values of identity columns. */
const IDENTITIES = `
  select t.name, a.attname as column, s.last
  from unnest($1::text[]) t(name) join pg_attribute a on a.attrelid = t.name::regclass and a.attidentity <> ''
  cross join lateral pg_sequence_last_value(pg_get_serial_sequence(t.name, a.attname)) s(last)
  where s.last is not null`;

/** Tables with billing and access are few and small, and jobs and events are taken across environments. */
const TABLES = `
  select c.oid::regclass::text as name, coalesce(d.partmethod = 'h', false) as "isDistributed",
    c.relpersistence = 'u' as "isUnlogged",
    n.nspname not in ('access', 'billing') and exists (
      select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id' and a.attnotnull
    ) as "isOfEnvironments",
    array(
      select distinct k.confrelid::regclass::text from pg_constraint k
      where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid
    ) as "refersTo"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_dist_partition d on d.logicalrelid = c.oid
  where n.nspname in ('platform', 'access', 'audience', 'billing', 'messaging', 'deliverability', 'webhooks')
    and c.relkind in ('r', 'p') and not c.relispartition
  order by 1`;

/** Policies without subquery and `is true`, which Citus does not take; one PostgreSQL keeps them, for speed in scans. */
const COMPARING_POLICIES = `
  do $$
  declare
    target regclass;
    command "char";
  begin
    for target, command in
      select polrelid, polcmd from pg_policy
      where polname = 'app_rows' and pg_get_expr(polqual, polrelid) like '%SELECT platform.environment_id()%'
    loop
      execute format(
        'alter policy app_rows on %s using (environment_id is not distinct from platform.environment_id())', target);
      if command = '*' then
        execute format('alter policy app_rows on %s with check (environment_id = platform.environment_id())', target);
      end if;
    end loop;
  end $$`;

/**
 * Spreads the rows of all projects over the nodes of a Citus cluster: every table of environments by `environment_id`, all of
 * one environment on one node. `ownerUrl` is that of the coordinator. Each table is a transaction of its own, which keeps
 * writers of that table waiting; after an error it can be run again and goes on. Throws an `UnfitDatabaseError` without Citus.
 */
export function distribute(ownerUrl: string): Promise<Distribution> {
  return onCoordinator(ownerUrl, async (client) => {
    await prepareNodes(client);
    await client.query(COMPARING_POLICIES);
    for (const name of COPIED_TABLES) await client.query(COPYING, [name]);
    await client.query(LOCKING);
    await client.query(COUNTING_EACH_ENVIRONMENT);
    const { rows: tables } = await client.query<Table>(TABLES);
    const { ofEnvironments = [], local = [] } = Object.groupBy(tables, ({ isOfEnvironments }) =>
      isOfEnvironments ? 'ofEnvironments' : 'local',
    );
    const { before = [], missing = [] } = Object.groupBy(ofEnvironments, ({ isDistributed }) =>
      isDistributed ? 'before' : 'missing',
    );
    let first = before[0]?.name;
    for (const { name } of inOrder(missing)) {
      await client.query(`select create_distributed_table($1, 'environment_id', colocate_with => $2)`, [
        name,
        first ?? 'none',
      ]);
      first ??= name;
    }
    await tell(client, names(local.filter(({ isUnlogged }) => !isUnlogged)));
    return { distributed: names(missing), unchanged: names(before), local: names(local) };
  });
}

/** Registers local tables; Citus makes new ones of them and of those they refer to, whose identities would begin at 1 again. */
async function tell(client: pg.Client, tables: readonly string[]): Promise<void> {
  await client.query('begin');
  const { rows: identities } = await client.query(IDENTITIES, [tables]);
  for (const table of tables) await client.query(TELLING, [table]);
  for (const { name, column, last } of identities)
    await client.query('select setval(pg_get_serial_sequence($1, $2), $3)', [name, column, last]);
  await client.query('commit');
}

const names = (tables: readonly Table[]): readonly string[] => tables.map(({ name }) => name);

/**
 * Lets nodes connect to each other as the role of the statement and pass on the transaction's settings, for row-level security.
 * Triggers only touch rows of their own environment, which are on the same node.
 */
async function prepareNodes(client: pg.Client): Promise<void> {
  for (const role of ['mailwright_app', 'mailwright_system', 'mailwright_owner'])
    await client.query(`alter role ${role} login`);
  const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name');
  await client.query(`alter database ${rows[0]!.name} set citus.propagate_set_commands = 'local'`);
  // On the nodes, too: a plan that a trigger keeps there would grow each time that it reads a distributed table.
  await client.query(`alter database ${rows[0]!.name} set plan_cache_mode = force_custom_plan`);
  await client.query(`set citus.enable_unsafe_triggers = on`);
}

/** The tables, each behind those that it refers to. */
export function inOrder<Row extends Pick<Table, 'name' | 'refersTo'>>(tables: readonly Row[]): Row[] {
  const ordered: Row[] = [];
  let waiting = [...tables];
  while (waiting.length > 0) {
    const left = new Set(waiting.map(({ name }) => name));
    const ready = waiting.filter(({ refersTo }) => !refersTo.some((name) => left.has(name)));
    if (ready.length === 0) throw new Error(`These tables refer to each other: ${[...left].join(', ')}.`);
    ordered.push(...ready);
    waiting = waiting.filter((table) => !ready.includes(table));
  }
  return ordered;
}

/** Place of the rows of an environment. */
export interface Isolation {
  /** `host:port` of the node. */
  readonly node: string;
  /** They had a shard to themselves before. */
  readonly wasAlone: boolean;
  /** They were moved to another node. */
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
 * Gives an environment a shard of its own and moves it to `node` (`host:port`), if any, while writers to its shard wait; safe to
 * repeat. Throws an `UnfitDatabaseError` without Citus or distributed tables, and for a node that is not of the cluster.
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
    `select nodename as host, nodeport as port from pg_dist_node
     where isactive and shouldhaveshards order by nodeid`,
  );
  const found = rows.find(({ host, port }) => `${host}:${port}` === name);
  const known = rows.map(({ host, port }) => `${host}:${port}`).join(', ');
  if (found === undefined)
    throw new UnfitDatabaseError(`The cluster has no node ${name} for rows. It has ${known}.`);
  return found;
}
