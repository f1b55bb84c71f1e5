import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { ProjectScope } from '#kernel';
import { createTestDatabase, isOnCitus, type TestDatabase } from '#testing/postgres/database';
import {
  connectAsApplication,
  type Relation,
  relationsOf,
  RowWriter,
  settingsOf,
} from '#testing/postgres/filled-tables';
import { createProject } from '#testing/fixtures/fixtures';

/** Tables that everybody may read, since they belong to nobody. */
const PUBLIC_TABLES: Readonly<Record<string, string>> = {
  'billing.plan_prices': 'the price list, the same for all',
  'billing.plan_variants': 'the price list, the same for all',
  'billing.plan_versions': 'the price list, the same for all',
  'public.schema_migrations': 'the names of the migrations, which a program compares when it starts',
};
/** Views that ask with their owner's rights, and what keeps them to the scope. */
const OWNERS_VIEWS: Readonly<Record<string, string>> = {
  'audience.scoped_subscribers':
    'names the scope’s environment itself: conditions on texts could use no index under row-level security',
};
/** The queue's own tables: ids of work. The application has no rights in that schema. */
const QUEUE = 'bullmq.';

/** A table that keeps no row: a trigger writes it to another one in its place. */
const PASSED_ON = 'platform.outbox';

/** Functions with their definer's rights, past row-level security, and why each shows nothing of another's. */
const DEFINERS: Readonly<Record<string, string>> = {
  'access.create_key_sequences': 'a trigger, which cannot be called',
  'access.find_api_key': 'by the SHA-256 of a key alone: who asks has the key',
  'access.find_environment':
    'turns the number in a signed token into tenant and project; shows no row of theirs',
  'access.next_key': 'the scope’s own sequence',
  'access.next_subscriber_numbers': 'the scope’s own sequence',
  'access.projects_of_tenant': 'a count of the scope’s tenant',
  'audience.depersonalise_ledger': 'a trigger, which cannot be called',
  'audience.live_subscribers_of_tenant': 'a count of the scope’s tenant',
  'billing.receive_stripe_event': 'adds an event whose signature was checked; says whether it was there',
  'deliverability.find_tracking_host':
    'numbers of environments, for the exact name of a host that points here: whoever calls it finds out as much',
  'deliverability.report_distrust':
    'notes that mail to a mailbox provider comes back, whose budgets all projects share',
  'deliverability.slow_destination':
    'slows a mailbox provider down for all, whose budgets all projects share',
  'deliverability.slowed_now': 'tells which mailbox providers are slowed down for all',
  'deliverability.take_budgets': 'takes from the budgets of mailbox providers, which all projects share',
  'platform.hit_rate_limits': 'counts up one window by several hits',
  'platform.kept_from': 'a day: up to when old rows were let go',
};

/** There `distribute` replaces what counts a tenant's subscribers. */
const REVIEWED = Object.keys(DEFINERS)
  .concat(isOnCitus ? 'access.live_environments_of_tenant' : [])
  .filter((name) => !isOnCitus || name !== 'audience.live_subscribers_of_tenant')
  .sort();

const REFUSED = '42501';
/** On Citus no row moves to another environment, whoever asks. */
const UNMOVED = isOnCitus ? [REFUSED, '0A000'] : [REFUSED];
/** Its settings are its keys' to change. */
const PROJECTS = 'access.projects';

describe('row-level security', () => {
  let test: TestDatabase;
  let application: pg.Client;
  let relations: Relation[];
  let writer: RowWriter;
  let own: ProjectScope;
  let others: Readonly<Record<string, ProjectScope>>;

  beforeAll(async () => {
    test = await createTestDatabase();
    const [first, second] = [await createProject(test, 'APIT'), await createProject(test, 'APIT')];
    own = first.test;
    others = { 'the other environment': first.live, 'another tenant': second.test };
    relations = await relationsOf(test);
    writer = new RowWriter(test);
    await writer.dropConstraints();
    await fill();
    application = await connectAsApplication(test);
  });
  afterAll(async () => {
    await application?.end();
    await test?.drop();
  });

  const tables = () => relations.filter(({ kind, isPartition }) => kind === 'table' && !isPartition);
  const owned = () =>
    tables().filter(
      ({ name, owner }) => owner !== undefined && !name.startsWith(QUEUE) && name !== PASSED_ON,
    );
  /** Tenants, projects and environments are there already. */
  const isMade = ({ name }: Relation) =>
    ['access.tenants', 'access.projects', 'access.project_environments'].includes(name);

  /** A row of everybody in every table. */
  async function fill(): Promise<void> {
    for (const table of tables()) {
      if (isMade(table) || table.name.startsWith(QUEUE) || table.name in PUBLIC_TABLES) continue;
      for (const scope of [own, ...Object.values(others)])
        await test.query(`${await writer.insertion(table, scope)} on conflict do nothing`);
    }
  }

  /** Runs it in a transaction of the scope that is rolled back; the SQLSTATE where it is refused. */
  async function as(scope: ProjectScope | null, statement: string): Promise<pg.QueryResult | string> {
    await application.query('begin');
    try {
      for (const [name, value] of Object.entries(scope === null ? {} : settingsOf(scope)))
        await application.query(`set local mailwright.${name} = '${value}'`);
      return await application.query(statement);
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await application.query('rollback');
    }
  }
  const rowsOf = async (scope: ProjectScope | null, { name }: Relation): Promise<unknown[] | 'refused'> => {
    const result = await as(scope, `select * from ${name}`);
    if (typeof result !== 'string') return result.rows;
    expect([name, result]).toEqual([name, REFUSED]);
    return 'refused';
  };
  const may = async (privilege: 'insert' | 'update' | 'delete', { name }: Relation): Promise<boolean> => {
    const asked = privilege === 'delete' ? 'has_table_privilege' : 'has_any_column_privilege';
    const [row] = await test.query<{ may: boolean }>(
      `select ${asked}('mailwright_app', $1::regclass, $2) as may`,
      [name, privilege],
    );
    return row?.may === true;
  };

  it('is on for every table but the reviewed ones, and for views by the rights of who asks', async () => {
    expect(tables().length).toBeGreaterThan(70);
    const open = tables().filter(({ name, hasRowSecurity }) => !hasRowSecurity && !name.startsWith(QUEUE));
    expect(open.map(({ name }) => name)).toEqual(Object.keys(PUBLIC_TABLES));
    for (const relation of relations.filter(({ kind }) => kind === 'view')) {
      const { name, asksAsInvoker } = relation;
      const safe = asksAsInvoker || name in OWNERS_VIEWS || (await rowsOf(own, relation)) === 'refused';
      expect([name, safe]).toEqual([name, true]);
    }
  });

  it('holds for the login that owns the tables as well', async () => {
    const unforced = await test.query(
      `select c.oid::regclass::text as name from pg_class c where relrowsecurity and not relforcerowsecurity`,
    );
    expect(unforced).toEqual([]);
    const owner = new pg.Client({ connectionString: test.adminUrl });
    await owner.connect();
    try {
      // As a login it is made by the tests' setup; a superuser may work as any.
      await owner.query('set session authorization schema_owner');
      const seen: string[] = [];
      for (const { name } of owned())
        if ((await owner.query(`select from ${name} limit 1`)).rowCount !== 0) seen.push(name);
      expect(seen).toEqual([]);
      await owner.query(`set mailwright.owner = 'on'`);
      expect((await owner.query('select from access.tenants')).rowCount).toBeGreaterThan(0);
    } finally {
      await owner.end();
    }
  });

  it('holds for a role that cannot log in, owns nothing and has no way past it', async () => {
    const [role] = await test.query(
      `select rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb,
         (select count(*)::int from pg_class where relowner = r.oid) as owns,
         pg_has_role('mailwright_app', 'mailwright_system', 'member') as is_system
       from pg_roles r where rolname = 'mailwright_app'`,
    );
    expect(role).toEqual({
      rolsuper: false,
      rolbypassrls: false,
      // The nodes of a cluster connect to each other as it: docs/internals/sharding.md.
      rolcanlogin: isOnCitus,
      rolcreaterole: false,
      rolcreatedb: false,
      owns: 0,
      is_system: false,
    });
  });

  it('is passed by the reviewed functions alone, none of which a caller’s search path can lead astray', async () => {
    const functions = await test.query<{ name: string }>(
      `select n.nspname || '.' || p.proname as name
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where p.prosecdef and n.nspname !~ '^pg_' and has_function_privilege('mailwright_app', p.oid, 'execute')
       order by 1`,
    );
    expect(functions.map(({ name }) => name)).toEqual(REVIEWED);
    // Neither longer nor quoted: by this the owner's policies know them.
    const unknown = await test.query(
      `select p.oid::regprocedure::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where p.prosecdef and n.nspname !~ '^pg_' and not coalesce('search_path=pg_catalog' = any (p.proconfig), false)`,
    );
    expect(unknown).toEqual([]);
  });

  it('shows no row of any table to a connection without a scope', async () => {
    const seen: string[] = [];
    for (const relation of relations) {
      const rows = await rowsOf(null, relation);
      if (rows !== 'refused' && rows.length > 0) seen.push(relation.name);
    }
    expect(seen.filter((name) => !(name in PUBLIC_TABLES))).toEqual([]);
    const filled = await Promise.all(
      owned().map(async ({ name }) => (await test.query(`select from ${name}`)).length > 1),
    );
    expect(filled).toEqual(filled.map(() => true));
  });

  it('shows a scope its own rows of every table, and no other', async () => {
    const empty: string[] = [];
    const views = relations.filter(({ kind, owner }) => kind === 'view' && owner !== undefined);
    expect(views.length).toBeGreaterThan(0);
    for (const relation of [...owned(), ...views]) {
      const { name, owner } = relation;
      const rows = await rowsOf(own, relation);
      if (rows === 'refused') continue;
      if (rows.length === 0) empty.push(name);
      const wanted = String(owner === undefined ? undefined : settingsOf(own)[owner.setting]);
      const owners = rows.map((row) => String((row as Record<string, unknown>)[owner?.column ?? '']));
      expect([name, [...new Set(owners)]]).toEqual([name, rows.length === 0 ? [] : [wanted]]);
    }
    expect(empty).toEqual([]);
  });

  it('lets a scope add no row for another', async () => {
    for (const relation of owned()) {
      if (!(await may('insert', relation))) continue;
      for (const [who, scope] of Object.entries(others)) {
        if (relation.owner?.setting === 'tenant_id' && scope.tenantId === own.tenantId) continue;
        const result = await as(own, await writer.insertion(relation, scope));
        expect([relation.name, who, result]).toEqual([relation.name, who, REFUSED]);
      }
    }
    for (const { environmentId } of Object.values(others)) {
      const result = await as(
        own,
        `insert into ${PASSED_ON} (id, environment_id, event_name, payload)
         values (gen_random_uuid(), ${environmentId}, 'messaging.campaign_queued.v1', '{}')`,
      );
      expect(result).toBe(REFUSED);
    }
  });

  it('lets a scope change and remove no row of another, nor give one of its own away', async () => {
    let changed = 0;
    const touchedBy = async (statement: string) => {
      const result = await as(own, statement);
      return typeof result === 'string' ? result : result.rowCount;
    };
    for (const relation of owned()) {
      const { name, owner } = relation;
      if (owner === undefined) continue;
      // Without the right to it there is no way at all; an id that the database makes is nobody's to write.
      const [mayUpdate, mayDelete] = [await may('update', relation), await may('delete', relation)];
      if (owner.column === 'id') {
        expect([name, mayUpdate, mayDelete && !isOnCitus]).toEqual([name, name === PROJECTS, false]);
        // Not even of its own. On Citus it has the right, without which nothing there can be locked, and no policy to use it by.
        expect([name, await touchedBy(`delete from ${name}`)]).toEqual([name, mayDelete ? 0 : REFUSED]);
      }
      for (const scope of Object.values(others)) {
        const other = settingsOf(scope)[owner.setting];
        if (owner.column === 'id' || other === settingsOf(own)[owner.setting]) continue;
        const theirs = `where ${owner.column} = ${other}`;
        const none = async (statement: string): Promise<void> => {
          const touched = await touchedBy(statement);
          expect([name, statement, touched]).toEqual([name, statement, touched === REFUSED ? REFUSED : 0]);
        };
        await none(`update ${name} set ${owner.column} = ${owner.column} ${theirs}`);
        await none(`delete from ${name} ${theirs}`);
        const given = await as(own, `update ${name} set ${owner.column} = ${other}`);
        expect([name, UNMOVED.some((refusal) => refusal === given)]).toEqual([name, true]);
        changed += 1;
      }
    }
    expect(changed).toBeGreaterThan(100);
  });

  it('lets a scope change the settings of its own project alone, and not whose it is', async () => {
    const changedBy = async (scope: ProjectScope, set: string) => {
      const result = await as(scope, `update ${PROJECTS} set ${set}`);
      return typeof result === 'string' ? result : result.rowCount;
    };
    expect(await changedBy(own, "name = 'Mine'")).toBe(1);
    const { projectId } = others['another tenant']!;
    expect(await changedBy(own, `name = 'Mine' where id = ${projectId}`)).toBe(0);
    const kept = [
      'tenant_id = tenant_id',
      'project_key = project_key',
      'ai_segment_suggestions_enabled = true',
      'created_at = now()',
    ];
    for (const set of kept) expect([set, await changedBy(own, set)]).toEqual([set, REFUSED]);
  });
});
