import pg from 'pg';
import type { ProjectScope } from '#kernel';
import type { TestDatabase } from './database.js';

export interface Relation {
  /** With its schema. */
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly isPartition: boolean;
  readonly hasRowSecurity: boolean;
  /** For a view: true if it asks with the rights of its reader. */
  readonly asksAsInvoker: boolean;
  /** The setting by which a row is somebody's, and the column that holds it. */
  readonly owner: Owner | undefined;
}
export interface Owner {
  readonly setting: 'environment_id' | 'project_id' | 'tenant_id';
  readonly column: string;
}

const OWNED_BY_ID: Readonly<Record<string, Owner['setting']>> = {
  'access.tenants': 'tenant_id',
  'access.projects': 'project_id',
  'access.project_environments': 'environment_id',
};
/** A value of each type, which is another one each time where a key may need it. */
const VALUES: Readonly<Record<string, (one: number) => string>> = {
  uuid: () => 'gen_random_uuid()',
  text: (one) => `'x${one}'`,
  bytea: (one) => `'x${one}'::bytea`,
  boolean: () => 'true',
  bigint: String,
  integer: String,
  smallint: () => '1',
  numeric: String,
  'double precision': String,
  jsonb: () => `'{}'`,
  date: () => 'current_date',
  inet: () => `'192.0.2.1'`,
  'timestamp with time zone': () => 'now()',
};

/** All tables and views that are neither PostgreSQL's own nor an extension's. */
export async function relationsOf(test: TestDatabase): Promise<Relation[]> {
  const rows = await test.query<{
    name: string;
    relkind: string;
    relispartition: boolean;
    relrowsecurity: boolean;
    options: string;
    columns: string[];
  }>(
    `select n.nspname || '.' || c.relname as name, c.relkind, c.relispartition, c.relrowsecurity,
       coalesce(c.reloptions::text, '') as options,
       array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and not exists (
         select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
       )
     order by 1`,
  );
  return rows.map(({ name, relkind, relispartition, relrowsecurity, options, columns }) => ({
    name,
    kind: relkind === 'r' || relkind === 'p' ? 'table' : 'view',
    isPartition: relispartition,
    hasRowSecurity: relrowsecurity,
    asksAsInvoker: /security_invoker=(?:true|on|1)/.test(options),
    owner: ownerOf(name, columns),
  }));
}

function ownerOf(name: string, columns: readonly string[]): Owner | undefined {
  const byId = OWNED_BY_ID[name];
  if (byId !== undefined) return { setting: byId, column: 'id' };
  const column = (['environment_id', 'tenant_id'] as const).find((each) => columns.includes(each));
  return column === undefined ? undefined : { setting: column, column };
}

/** Settings of a scope's transactions. */
export const settingsOf = (scope: ProjectScope): Readonly<Record<Owner['setting'], number>> => ({
  environment_id: scope.environmentId,
  project_id: scope.projectId,
  tenant_id: scope.tenantId,
});

interface Column {
  readonly name: string;
  readonly type: string;
}

/** Writes rows that belong to somebody, whatever else is in them. */
export class RowWriter {
  readonly #columns = new Map<string, readonly Column[]>();
  #rows = 0;

  constructor(private readonly test: TestDatabase) {}

  /** Rows need no sense here: takes away what asks for it, and leaves row-level security as it is. */
  async dropConstraints(): Promise<void> {
    const constraints = await this.test.query<{ statement: string }>(
      `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement
       from pg_constraint join pg_class c on c.oid = conrelid
       where contype in ('c', 'f') and coninhcount = 0 and conparentid = 0 and c.relkind in ('r', 'p')
         and connamespace::regnamespace::text !~ '^pg_'
       order by contype desc`,
    );
    for (const { statement } of constraints) await this.test.query(statement);
  }

  /** An INSERT of a row of this owner. */
  async insertion({ name, owner }: Relation, scope: ProjectScope): Promise<string> {
    const settings: Readonly<Record<string, number>> = settingsOf(scope);
    const values = (await this.#columnsOf(name)).map((column) => {
      if (column.name === owner?.column) return settings[owner.setting];
      return settings[column.name] ?? this.#valueOf(name, column);
    });
    const names = (await this.#columnsOf(name)).map((column) => `"${column.name}"`);
    return `insert into ${name} (${names.join(', ')}) values (${values.join(', ')})`;
  }

  #valueOf(table: string, { name, type }: Column): string {
    this.#rows += 1;
    if (type.endsWith('[]')) return `'{}'`;
    const value = VALUES[type];
    if (value === undefined) throw new Error(`Add a value of the type ${type} (${table}.${name}) to VALUES.`);
    return value(this.#rows);
  }

  /** Columns that a row has to have, and those that say whose it is. */
  async #columnsOf(table: string): Promise<readonly Column[]> {
    const known = this.#columns.get(table);
    if (known !== undefined) return known;
    const columns = await this.test.query<{ name: string; type: string }>(
      `select attname::text as name, format_type(atttypid, null) as type
       from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''
         and (attname in ('environment_id', 'tenant_id') or attnotnull and not atthasdef)`,
      [table],
    );
    this.#columns.set(table, columns);
    return columns;
  }
}

/** A connection of its own with the application's rights, outside of everything that sets a scope. */
export async function connectAsApplication(test: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: test.url });
  await client.connect();
  await client.query('set role mailwright_app');
  return client;
}
