import type pg from 'pg';
import { onCoordinator } from './coordinator.js';
import { COUNTING_EACH_ENVIRONMENT } from './counted-environments.js';

/** What `distribute` made of an installation's tables. */
export interface Distribution {
  /** Tables whose rows are spread by their environment, which were not before. */
  readonly distributed: readonly string[];
  /** Those that were already. */
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

/** Few rows that say whose an environment is: each node has all of them. */
const COPIED_TABLES = ['access.tenants', 'access.projects', 'access.project_environments'];
const COPYING = `select create_reference_table($1)
  where not exists (select 1 from pg_dist_partition where logicalrelid = $1::regclass and repmodel = 't')`;
/** Citus locks a copied table only for whoever may write to all of its columns. No policy lets the app delete a row of these. */
const LOCKING = 'grant delete on access.tenants, access.projects to mailwright_app';
/**
 * Lets Citus know a table that stays on the coordinator: only then a transaction that writes to it and on a node is committed on both
 * or on neither, whichever of them crashes.
 */
const TELLING = `select citus_add_local_table_to_metadata($1, true)
  where not exists (select 1 from pg_dist_partition where logicalrelid = $1::regclass and not autoconverted)`;

/** The numbers that were given out last; none of a table where nothing was. */
const IDENTITIES = `
  select t.name, a.attname as column, s.last
  from unnest($1::text[]) t(name) join pg_attribute a on a.attrelid = t.name::regclass and a.attidentity <> ''
  cross join lateral pg_sequence_last_value(pg_get_serial_sequence(t.name, a.attname)) s(last)
  where s.last is not null`;

/** Tables with billing and access are few and small, and jobs and events are taken across environments. */
const TABLES = `
  select c.oid::regclass::text as name, coalesce(d.partmethod = 'h', false) as "isDistributed", c.relpersistence = 'u' as "isUnlogged",
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

/**
 * Citus takes neither a subquery nor `is true` in a policy. On one PostgreSQL both stay: this form reads the setting for each
 * row, which makes scans of many rows two to four times as dear.
 */
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
      execute format('alter policy app_rows on %s using (environment_id is not distinct from platform.environment_id())', target);
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

/** Citus makes another table of each, and of those that it refers to, whose identities would begin at 1 again. */
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
 * Nodes connect to each other as the role of the statement, and row-level security on a shard reads the settings of the
 * transaction. Triggers of ours only touch rows of the environment of theirs, which are on the same node.
 */
async function prepareNodes(client: pg.Client): Promise<void> {
  for (const role of ['mailwright_app', 'mailwright_system', 'mailwright_owner'])
    await client.query(`alter role ${role} login`);
  const { rows } = await client.query<{ name: string }>('select quote_ident(current_database()) as name');
  await client.query(`alter database ${rows[0]!.name} set citus.propagate_set_commands = 'local'`);
  // Set on the nodes, too: a plan that a trigger keeps there grows by 17 KB each time that it reads a distributed table.
  await client.query(`alter database ${rows[0]!.name} set plan_cache_mode = force_custom_plan`);
  await client.query(`set citus.enable_unsafe_triggers = on`);
}

/** Each behind those that it refers to. */
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
