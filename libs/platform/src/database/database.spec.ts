import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { defineEntity, p } from '@mikro-orm/postgresql';
import { type Kysely, sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { databaseFailure } from './database-failure.js';
import { Database, type Tables } from './database.js';
import { schemaDifference } from './fit-database.js';
import { plannedForValues } from './planner.js';
import { named, PreparedQuery } from './statement.js';

class Topic {
  name = '';
  readonly createdAt = new Date('2026-03-01T10:20:30.456Z');
  readonly updatedAt = this.createdAt;
  readonly status = 'ACTIVE';
  readonly doubleOptInEnabled = true;

  constructor(
    readonly id: string,
    readonly environmentId: number,
    readonly topicKey: string,
  ) {}
}

const TopicSchema = defineEntity({
  class: Topic,
  tableName: 'topics',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number'),
    topicKey: p.text(),
    name: p.text(),
    status: p.text(),
    doubleOptInEnabled: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
type TopicTables = Tables<'audience', typeof TopicSchema>;

const scopeOf = (environmentId: number): ProjectScope => ({
  tenantId: 1,
  projectId: 1,
  environmentId,
  environment: 'TEST',
});

describe('Database', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    const entities = [TopicSchema];
    database = await Database.connect({ url: test.url, poolSize: 4, applicationName: 'spec', entities });
  });

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const topicIn = (environmentId: number) =>
    database.transaction(scopeOf(environmentId), () =>
      sql`insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
        values (gen_random_uuid(), ${environmentId}, 'T-1', 'News', 'ACTIVE', true, now(), now())`.execute(
        database.tables(),
      ),
    );
  const countTopics = sql<{ count: number }>`select count(*) from audience.topics`;

  it('shows a scope only its own rows, even to a query that forgot to ask for them', async () => {
    await topicIn(11);
    await topicIn(12);
    const { rows } = await database.transaction(scopeOf(11), () => countTopics.execute(database.tables()));
    expect(rows).toEqual([{ count: 1 }]);
  });

  it('reads times and dates as they are, whatever the server’s own settings for them', async () => {
    const elsewhere = await createTestDatabase();
    const name = new URL(elsewhere.url).pathname.slice(1);
    await elsewhere.query(`alter database ${name} set timezone = 'Pacific/Auckland'`);
    await elsewhere.query(`alter database ${name} set datestyle = 'SQL, DMY'`);
    const here = await Database.connect({
      url: elsewhere.url,
      poolSize: 1,
      applicationName: 'spec',
      entities: [],
    });
    const at = new Date('2026-11-21T23:30:00.123Z');
    const both = sql<{ at: Date; day: string }>`
      select ${at}::timestamptz as at, (${at}::timestamptz)::date::text as day`;
    expect(await here.statement('unscoped', both)).toEqual([{ at, day: '2026-11-21' }]);
    await here.close();
    await elsewhere.drop();
  });

  it('shows no rows without a scope and all of them to the system', async () => {
    await topicIn(21);
    expect(await database.statement('unscoped', countTopics)).toEqual([{ count: 0 }]);
    const { rows } = await database.system(() => countTopics.execute(database.tables()));
    expect(rows[0]?.count).toBeGreaterThan(0);
    expect(await database.statement('unscoped', countTopics)).toEqual([{ count: 0 }]);
  });

  it('plans a statement that has a name once for a connection, and shows each scope its own rows', async () => {
    const single = await Database.connect({
      url: test.url,
      poolSize: 1,
      applicationName: 'spec',
      entities: [],
    });
    const topics = (environmentId: number) =>
      single.transaction(scopeOf(environmentId), async () => {
        const keys = await sql<{
          id: number;
        }>`${named('keys_of_topics')} select environment_id as id from audience.topics
          where topic_key = ${'T-1'}`.execute(single.tables());
        const kept = await sql<{ count: number }>`
          select count(*) from pg_prepared_statements where name like 'keys_of_topics%'`.execute(
          single.tables(),
        );
        return { found: keys.rows.map(({ id }) => id), kept: kept.rows[0]?.count };
      });
    try {
      await topicIn(51);
      await topicIn(52);
      for (const environmentId of [51, 52, 51, 52, 51, 52, 51, 52]) {
        expect(await topics(environmentId)).toEqual({ found: [environmentId], kept: 1 });
      }
    } finally {
      await single.close();
    }
  });

  it('answers single statements of scopes and of the system in turn, each with the rows that it may see', async () => {
    await topicIn(71);
    await topicIn(72);
    const count = sql<{
      count: number;
    }>`select count(*) from audience.topics where environment_id in (71, 72)`;
    const isThere = sql`exists (select 1 from audience.topics where environment_id = 72)`;
    for (let times = 0; times < 3; times += 1) {
      expect(await database.statement(scopeOf(71), count)).toEqual([{ count: 1 }]);
      expect(await database.statement('system', count)).toEqual([{ count: 2 }]);
      expect(await database.holds(isThere)).toBe(true);
    }
    const asked = [
      database.holds(sql`null::boolean`),
      database.holds(isThere),
      database.holds(sql`${1}::int = 1`),
      database.holds(sql`${2}::int = 1`),
    ];
    expect(await Promise.all(asked)).toEqual([false, true, true, false]);
    const broken = [database.holds(sql`1 / 0 = 1`), database.holds(isThere)];
    expect((await Promise.allSettled(broken)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await database.holds(isThere)).toBe(true);
  });

  it('reads a page of a list within its scope', async () => {
    await topicIn(81);
    const page = sql<{ count: number }>`select count(*) from audience.topics`;
    const lists = [81, 82].map((environmentId) =>
      database.statement(scopeOf(environmentId), page, { isList: true }),
    );
    expect(await Promise.all(lists)).toEqual([[{ count: 1 }], [{ count: 0 }]]);
  });

  it('reads pages of one moment of a scope, whatever is written between them', async () => {
    const scope = scopeOf(77);
    const add = (key: string) =>
      database.transaction(scope, () =>
        sql`insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
          values (gen_random_uuid(), 77, ${key}, 'News', 'ACTIVE', true, now(), now())`.execute(
          database.tables(),
        ),
      );
    for (const key of ['T-1', 'T-2', 'T-3', 'T-4', 'T-5']) await add(key);
    await topicIn(78);
    const statement = sql<{ id: string }>`select id from audience.topics where name = ${'News'} order by id`;
    const sizes: number[] = [];
    for await (const page of database.snapshot(scope, statement, 2)) {
      sizes.push(page.length);
      await add(`T-9${sizes.length}`);
      await database.transaction(scope, () =>
        sql`update audience.topics set name = 'Changed'`.execute(database.tables()),
      );
    }
    expect(sizes).toEqual([2, 2, 1]);
    // Left early, it gives its connection back.
    for (let time = 0; time < 10; time += 1)
      for await (const page of database.snapshot(scope, sql`select id from audience.topics`, 2)) {
        expect(page).toHaveLength(2);
        break;
      }
  });

  it('refuses to write into another scope', async () => {
    const attempt = database.transaction(scopeOf(31), () =>
      sql`insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
        values (gen_random_uuid(), 32, 'T-1', 'News', 'ACTIVE', true, now(), now())`.execute(
        database.tables(),
      ),
    );
    await expect(attempt).rejects.toThrow(/row-level security/);
  });

  it('joins an open transaction of the same scope and refuses another one', async () => {
    await expect(
      database.transaction(scopeOf(41), async () => {
        await topicIn(41);
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    const { rows } = await database.transaction(scopeOf(41), () => countTopics.execute(database.tables()));
    expect(rows).toEqual([{ count: 0 }]);
    await expect(database.transaction(scopeOf(41), () => topicIn(42))).rejects.toThrow(/another scope/);
  });

  it('has its unit of work and its typed SQL at hand for whoever is called inside, and for nobody else', async () => {
    const names = () =>
      database.tables<TopicTables>().selectFrom('audience.topics').select(['topicKey', 'name']).execute();
    const rename = async (name: string) => {
      const topic = await database.em.findOneOrFail(Topic, { topicKey: 'T-9' });
      topic.name = name;
      await database.em.flush();
    };
    const [found, seenByOthers] = await database.transaction(scopeOf(91), async () => {
      await database.em.persist(new Topic(newId(), 91, 'T-9')).flush();
      await database.transaction(scopeOf(91), () => rename('News'));
      return [await names(), await test.query('select 1 from audience.topics where environment_id = 91')];
    });
    expect(found).toEqual([{ topicKey: 'T-9', name: 'News' }]);
    expect(seenByOthers).toEqual([]);
    expect(await database.transaction(scopeOf(92), names)).toEqual([]);
    expect(() => database.em).toThrow('No transaction is open.');
    expect(() => database.tables()).toThrow('No transaction is open.');
  });

  it('keeps a statement of a builder prepared, too', async () => {
    const kept = await database.transaction(scopeOf(93), async () => {
      const tables = database.tables<TopicTables>();
      await tables
        .selectFrom('audience.topics')
        .modifyFront(named('names_of_topics'))
        .select('name')
        .where('name', '=', 'x')
        .execute();
      const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(
        tables,
      );
      return rows.map(({ statement }) => statement);
    });
    expect(kept).toContainEqual(
      expect.stringMatching(/^select \/\* names_of_topics \*\/ "name" from "audience"."topics"/),
    );
  });

  it('compiles a query once, and runs it with the values of each time', async () => {
    let compiled = 0;
    const ofName = new PreparedQuery(
      'topics_of_name',
      (tables: Kysely<TopicTables>, environmentId: number, name: string) => {
        compiled += 1;
        const topics = tables.selectFrom('audience.topics').select('topicKey').where('status', '=', 'ACTIVE');
        return topics.where('name', '=', name).where('environmentId', '=', environmentId);
      },
    );
    const keys = await database.transaction(scopeOf(95), async () => {
      for (const [key, name] of Object.entries({ 'T-1': 'News', 'T-2': 'Offers' })) {
        const topic = new Topic(newId(), 95, key);
        topic.name = name;
        await database.em.persist(topic).flush();
      }
      const tables = database.tables<TopicTables>();
      return [await ofName.run(tables, 95, 'Offers'), await ofName.run(tables, 95, 'News')];
    });
    expect(keys).toEqual([[{ topicKey: 'T-2' }], [{ topicKey: 'T-1' }]]);
    expect(compiled).toBe(1);
    // @ts-expect-error a column that is not there does not compile
    const unknown = () => database.tables<TopicTables>().selectFrom('audience.topics').select('colour');
    // @ts-expect-error neither does a value of another type
    const mistyped = () => database.tables<TopicTables>().selectFrom('audience.topics').where('name', '=', 1);
    expect([unknown, mistyped].map((query) => typeof query)).toEqual(['function', 'function']);
  });

  it('does not let the app change or delete the consent ledger', async () => {
    for (const statement of [
      sql`update audience.consent_ledger set source = 'x'`,
      sql`delete from audience.consent_ledger`,
    ]) {
      await expect(
        database.transaction(scopeOf(51), () => statement.execute(database.tables())),
      ).rejects.toThrow(/permission denied/);
    }
  });

  describe('a connection that is lost', () => {
    const SIZE = 2;
    let small: Database;
    beforeEach(async () => {
      small = await open();
    });
    afterEach(() => small.close());

    const open = () =>
      Database.connect({ url: test.url, poolSize: SIZE, applicationName: 'lost', entities: [] });
    const cut = () =>
      test.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'lost'`);
    const count = (of: Database) => () => countTopics.execute(of.tables());
    const ways = {
      transaction: () => small.transaction(scopeOf(61), count(small)),
      read: () => small.read(scopeOf(61), { onReplica: true }, count(small)),
    };
    const works = (way: keyof typeof ways = 'transaction') =>
      Promise.allSettled(Array.from({ length: SIZE }, ways[way]));
    const failures = (results: readonly PromiseSettledResult<unknown>[]): unknown[] =>
      results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));

    it('in the middle of a transaction makes room for another one', async () => {
      for (let times = 0; times <= SIZE; times += 1) {
        const attempt = small.transaction(scopeOf(61), async () => {
          await cut();
          await countTopics.execute(small.tables());
        });
        await expect(attempt).rejects.toThrow();
      }
      expect(failures(await works())).toEqual([]);
    });

    it.each(['transaction', 'read'] as const)(
      'as a %s begins makes room for another one, and is told as what it is',
      async (way) => {
        const failed: unknown[] = [];
        for (let times = 0; times <= 5 * SIZE; times += 1) {
          const cutting = cut();
          failed.push(...failures(await works(way)));
          await cutting;
          await works(way);
        }
        expect(failed.filter((error) => databaseFailure(error) === null)).toEqual([]);
        await eventually('all places are taken again', async () => failures(await works(way)).length === 0);
      },
    );

    it('lets whom a connection is being made for end before it closes', async () => {
      const closing = await open();
      await closing.transaction(scopeOf(61), count(closing));
      await cut();
      await eventually('the pool knows', () => closing.pool.totalCount === 0);
      const last = closing.transaction(scopeOf(61), count(closing));
      while (closing.pool.totalCount === 0) await turn();
      await closing.close();
      expect((await last).rows).toHaveLength(1);
    });
  });

  it('writes limits, and offsets of nothing, into the text of a statement, which is planned for them', async () => {
    const page = (size: number, offset: number) =>
      database.transaction(scopeOf(1), async () => {
        const names = database.tables<TopicTables>().selectFrom('audience.topics').select('name');
        return names.limit(size).offset(offset).compile();
      });
    expect((await page(21, 0)).sql).toMatch(/ limit 21 offset 0$/);
    expect(await page(21, 40)).toMatchObject({
      sql: expect.stringMatching(/ limit 21 offset \$1$/),
      parameters: [40],
    });
    const nested = sql`select 1 from (select ${'a'} as a limit ${3}) t where a = ${'b'} limit least(${5}::int, 7) offset ${0}`;
    expect(database.compile(nested)).toMatchObject({
      sql: 'select 1 from (select $1 as a limit 3) t where a = $2 limit least($3::int, 7) offset 0',
      parameters: ['a', 'b', 5],
    });
  });

  it('plans for any values, and for those of sets, after which the settings are what they were', async () => {
    const settings = sql<{ mode: string; memory: string }>`
      select current_setting('plan_cache_mode') as mode, current_setting('work_mem') as memory`;
    await database.transaction(scopeOf(1), async () => {
      const read = async () => (await settings.execute(database.tables())).rows[0];
      const before = await read();
      expect(before?.mode).toBe('force_generic_plan');
      const during = await plannedForValues(database, { work_mem: '7MB' }, read);
      expect(during).toEqual({ mode: 'force_custom_plan', memory: '7MB' });
      expect(await read()).toEqual(before);
    });
  });

  it('reads a list on connections that scan no table, and writes nothing there', async () => {
    const setting = sql<{ scans: string; id: string }>`
      select current_setting('enable_seqscan') as scans, current_setting('mailwright.environment_id') as id`;
    const read = async () => (await setting.execute(database.tables())).rows;
    expect(await database.read(scopeOf(71), { isList: true }, read)).toEqual([{ scans: 'off', id: '71' }]);
    expect(
      await database.transaction(scopeOf(71), () => database.read(scopeOf(71), { isList: true }, read)),
    ).toEqual([{ scans: 'on', id: '71' }]);
    const write = () => sql`delete from audience.topics`.execute(database.tables());
    await expect(database.read(scopeOf(71), { isList: true }, write)).rejects.toThrow(/read-only/);
  });

  it('knows that no migration is pending', async () => {
    expect(await schemaDifference(database.pool)).toEqual({ pending: [], unknown: [] });
  });
});
