import pg from 'pg';
import { migrationFiles } from '../../../libs/platform/src/database/fit-database.js';
import type { TestDatabase } from './database.js';

const SCHEMAS = `('platform', 'access', 'audience', 'billing', 'messaging', 'deliverability', 'webhooks')`;

const TABLES = `
  select c.oid::regclass::text as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns,
    string_agg(format('quote_nullable(%I)', a.attname), ', ' order by a.attnum) as values
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace::regnamespace::text in ${SCHEMAS} and c.relkind in ('r', 'p') and c.relpersistence = 'p'
    and not c.relispartition and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  group by c.oid order by 1`;

const SEQUENCES = `
  select c.oid::regclass::text as name, s.last_value, not exists (
      select from pg_depend d where d.objid = c.oid and d.deptype = 'i') as stands_alone
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_sequences s on s.schemaname = n.nspname and s.sequencename = c.relname
  where n.nspname in ${SCHEMAS} order by 1`;

/**
 * Moves all times by the whole days that have passed since, so that dates agree with them. What is left over is less than a
 * day: whoever makes an installation to be frozen lets nothing in it fall due sooner than that.
 */
const MOVE_TIMES = `
  do $$
  declare
    days int := extract(day from now() - current_setting('frozen.at')::timestamptz);
    target record;
  begin
    for target in
      select a.attrelid::regclass as name, string_agg(format('%1$I = %1$I + %2$s', a.attname,
        case a.atttypid when 'date'::regtype then days::text else format('make_interval(days => %s)', days) end), ', ') as moved
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace::regnamespace::text in ${SCHEMAS} and c.relkind in ('r', 'p') and not c.relispartition
        and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.atttypid in ('date'::regtype, 'timestamptz'::regtype)
      group by a.attrelid
    loop
      execute format('update %s set %s', target.name, target.moved);
    end loop;
    update audience.counters set key = (key::date + days)::text where kind = 'CREATED';
    update audience.counter_deltas set key = (key::date + days)::text where kind = 'CREATED';
  end $$`;

/**
 * All rows, sequences and records of migrations as SQL. The schema is that of the migrations, whose digests are among them.
 * Tables that a crash may empty (unlogged) and the queue, which holds only ids, are left out.
 */
export async function freeze(database: TestDatabase): Promise<string> {
  const statements = [`set frozen.at = '${new Date().toISOString()}';`];
  const tables = await database.query<{ name: string; columns: string; values: string }>(TABLES);
  tables.unshift({
    name: 'public.schema_migrations',
    columns: 'name, digest',
    values: 'quote_nullable(name), quote_nullable(digest)',
  });
  for (const { name, columns, values } of tables) {
    const rows = await database.query<{ row: string }>(
      `select format('(%s)', concat_ws(', ', ${values})) as row from ${name} order by 1`,
    );
    if (rows.length === 0) continue;
    statements.push(
      `insert into ${name} (${columns}) overriding system value values\n${rows.map(({ row }) => row).join(',\n')};`,
    );
  }
  for (const { name, last_value, stands_alone } of await database.query<{
    name: string;
    last_value: string | null;
    stands_alone: boolean;
  }>(SEQUENCES)) {
    if (stands_alone) statements.push(`create sequence if not exists ${name};`);
    if (last_value !== null) statements.push(`select setval('${name}', ${last_value});`);
  }
  return `${statements.join('\n\n')}\n`;
}

/** Makes an empty database what it was when it was frozen; resolves to the migrations that have come since. */
export async function thaw(url: string, frozen: string): Promise<string[]> {
  const files = await migrationFiles();
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  try {
    // As the migrator makes it.
    await client.query(
      `create table public.schema_migrations (id serial primary key, name varchar(255), executed_at timestamptz default now())`,
    );
    for (const { statements } of files.filter(({ name }) => frozen.includes(name)))
      await client.query(statements);
    await client.query('set session_replication_role = replica');
    await client.query(frozen);
    await client.query(MOVE_TIMES);
  } finally {
    await client.end();
  }
  return files.map(({ name }) => name).filter((name) => !frozen.includes(name));
}
