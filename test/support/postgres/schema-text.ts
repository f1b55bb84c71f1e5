import type { TestDatabase } from './database.js';

/** Our schemas, in the order in which they build on each other. BullMQ makes its own. */
const SCHEMAS = [
  'platform',
  'retired',
  'access',
  'audience',
  'billing',
  'messaging',
  'deliverability',
  'webhooks',
];

/** Partitions come and go with the months: their parents stand for them. */
const TABLES = `
  select c.oid, c.relname as name, c.relpersistence = 'u' as unlogged, obj_description(c.oid, 'pg_class') as comment,
    pg_get_partkeydef(c.oid) as partitioned_by, c.relrowsecurity as has_policies, c.relforcerowsecurity as are_forced,
    array_to_string(c.reloptions, ', ') as options
  from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname`;

const COLUMNS = `
  select format('  %s %s%s%s%s', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation else '' end,
    case when a.attnotnull then ' not null' else '' end,
    case when a.attidentity <> '' then ' generated ' || case a.attidentity when 'a' then 'always' else 'by default' end || ' as identity'
      when a.attgenerated <> '' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') '
        || case a.attgenerated when 's' then 'stored' else 'virtual' end
      when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) else '' end) as line,
    a.attname as name, col_description(a.attrelid, a.attnum) as comment
  from pg_attribute a join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`;

const CONSTRAINTS = `
  select format('  constraint %I %s', conname, pg_get_constraintdef(oid)) as line
  from pg_constraint where conrelid = $1 and contype <> 'n' order by contype = 'p' desc, contype, conname`;

const INDEXES = `
  select pg_get_indexdef(i.indexrelid) as line from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = $1 and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = $1)
  order by c.relname`;

/** Sequences that no column generates its values from. */
const SEQUENCES = `
  select c.oid, c.relname as name, obj_description(c.oid, 'pg_class') as comment
  from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'S'
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i') order by c.relname`;

const VIEWS = `
  select c.oid, c.relname as name, obj_description(c.oid, 'pg_class') as comment, array_to_string(c.reloptions, ', ') as options,
    rtrim(pg_get_viewdef(c.oid), ';') as body, nullif(c.relowner, n.nspowner)::regrole::text as owner
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relnamespace = $1::regnamespace and c.relkind = 'v' order by c.relname`;

const TRIGGERS = `
  select pg_get_triggerdef(oid) as line from pg_trigger where tgrelid = $1 and not tgisinternal order by tgname`;

const POLICIES = `
  select format('create policy %I on %s for %s to %s%s%s', polname, polrelid::regclass,
    case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
    (select string_agg(r::regrole::text, ', ' order by r::regrole::text) from unnest(polroles) r),
    ' using (' || pg_get_expr(polqual, polrelid) || ')', ' with check (' || pg_get_expr(polwithcheck, polrelid) || ')') as line
  from pg_policy where polrelid = $1 order by polname`;

const GRANTS = `
  select format('grant %s on %s%s to %s', string_agg(lower(privilege_type), ', ' order by privilege_type),
    case c.relkind when 'S' then 'sequence ' else '' end, $1::regclass, grantee::regrole) as line
  from pg_class c, aclexplode(c.relacl) where c.oid = $1 and grantee <> c.relowner
  group by c.relkind, grantee order by grantee::regrole::text`;

const COLUMN_GRANTS = `
  select format('grant %s (%s) on %s to %s', lower(privilege_type), string_agg(attname, ', ' order by attname), $1::regclass,
    grantee::regrole) as line
  from pg_attribute, aclexplode(attacl) where attrelid = $1 group by privilege_type, grantee
  order by privilege_type, grantee::regrole::text`;

const SCHEMA_GRANTS = `
  select format('grant %s on schema %I to %s', string_agg(lower(privilege_type), ', ' order by privilege_type), nspname, grantee::regrole) as line
  from pg_namespace, aclexplode(nspacl) where nspname = $1 and grantee <> nspowner
  group by nspname, grantee order by grantee::regrole::text`;

const FUNCTIONS = `
  select pg_get_functiondef(p.oid) as line, obj_description(p.oid, 'pg_proc') as comment,
    format('%s %s', case p.prokind when 'p' then 'procedure' else 'function' end, p.oid::regprocedure) as name,
    (select string_agg(case grantee when 0 then 'public' else grantee::regrole::text end, ', ' order by grantee::text)
     from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) where grantee <> p.proowner) as callers
  from pg_proc p where p.pronamespace = $1::regnamespace and p.prokind in ('f', 'p') order by p.proname, p.oid::regprocedure::text`;

interface Line {
  readonly line: string;
}
interface Commented extends Line {
  readonly name: string;
  readonly comment: string | null;
}
interface Relation {
  readonly oid: number;
  readonly name: string;
  readonly comment: string | null;
}
interface Table extends Relation {
  readonly unlogged: boolean;
  readonly partitioned_by: string | null;
  readonly has_policies: boolean;
  readonly are_forced: boolean;
  readonly options: string | null;
}
interface View extends Relation {
  readonly options: string | null;
  readonly body: string;
  readonly owner: string | null;
}

/** The schema as PostgreSQL knows it once all migrations ran, in an order that does not change: SQL to read and to compare. */
export async function schemaText(database: TestDatabase): Promise<string> {
  const parts: string[] = [];
  for (const schema of SCHEMAS) {
    parts.push(await schemaStatements(database, schema));
    for (const table of await database.query<Table>(TABLES, [schema]))
      parts.push(await tableText(database, schema, table));
    for (const view of await database.query<View>(VIEWS, [schema]))
      parts.push(await viewText(database, schema, view));
    for (const each of await database.query<Commented & { callers: string | null }>(FUNCTIONS, [schema])) {
      const callers = each.callers === null ? '' : `\n-- called by ${each.callers}`;
      parts.push(`${each.line.trimEnd()};${callers}${commentOn(each.name, each.comment)}`);
    }
  }
  return `${parts.join('\n\n')}\n`;
}

async function linesOf(database: TestDatabase, query: string, of: unknown): Promise<string[]> {
  return (await database.query<Line>(query, [of])).map(({ line }) => line);
}

async function schemaStatements(database: TestDatabase, schema: string): Promise<string> {
  const [named] = await database.query<{ comment: string | null }>(
    `select obj_description($1::regnamespace, 'pg_namespace') as comment`,
    [schema],
  );
  const statements = [`create schema ${schema}`, ...(await linesOf(database, SCHEMA_GRANTS, schema))];
  const comments = [commentOn(`schema ${schema}`, named?.comment ?? null)];
  for (const { oid, name, comment } of await database.query<Relation>(SEQUENCES, [schema])) {
    statements.push(`create sequence ${schema}.${name}`, ...(await linesOf(database, GRANTS, oid)));
    comments.push(commentOn(`sequence ${schema}.${name}`, comment));
  }
  return text(statements, comments);
}

async function viewText(database: TestDatabase, schema: string, view: View): Promise<string> {
  const name = `${schema}.${view.name}`;
  const options = view.options === null ? '' : ` with (${view.options})`;
  const statements = [
    `create view ${name}${options} as\n${view.body}`,
    ...(view.owner === null ? [] : [`alter view ${name} owner to ${view.owner}`]),
    ...(await linesOf(database, GRANTS, view.oid)),
  ];
  return text(statements, [commentOn(`view ${name}`, view.comment)]);
}

async function tableText(database: TestDatabase, schema: string, table: Table): Promise<string> {
  const name = `${schema}.${table.name}`;
  const lines = (query: string) => linesOf(database, query, table.oid);
  const columns = await database.query<Commented>(COLUMNS, [table.oid]);
  const body = [...columns.map(({ line }) => line), ...(await lines(CONSTRAINTS))].join(',\n');
  const partition =
    table.partitioned_by === null ? '' : ` partition by ${table.partitioned_by.toLowerCase()}`;
  const options = table.options === null ? '' : ` with (${table.options})`;
  const secured = [
    ...(table.has_policies ? [`alter table ${name} enable row level security`] : []),
    ...(table.are_forced ? [`alter table ${name} force row level security`] : []),
  ];
  const statements = [
    `create ${table.unlogged ? 'unlogged ' : ''}table ${name} (\n${body}\n)${partition}${options}`,
    ...(await lines(INDEXES)),
    ...(await lines(TRIGGERS)),
    ...secured,
    ...(await lines(POLICIES)),
    ...(await lines(GRANTS)),
    ...(await lines(COLUMN_GRANTS)),
  ];
  const comments = [
    commentOn(`table ${name}`, table.comment),
    ...columns.map((column) => commentOn(`column ${name}.${column.name}`, column.comment)),
  ];
  return text(statements, comments);
}

function text(statements: readonly string[], comments: readonly string[]): string {
  return `${statements.map((each) => `${each};`).join('\n')}${comments.join('')}`;
}

function commentOn(what: string, comment: string | null): string {
  return comment === null ? '' : `\ncomment on ${what} is '${comment.replaceAll("'", "''")}';`;
}
