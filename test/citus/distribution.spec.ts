import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { query } from '#testing/postgres/citus';
import { createProject } from '#testing/fixtures/fixtures';
import { ManualClock } from '#testing/time/clocks';
import { Database } from '../../libs/platform/src/database/database.js';
import { distribute, isolate } from '../../libs/platform/src/database/distribution.js';
import { jobType } from '../../libs/platform/src/jobs/job.js';
import { enqueue } from '../../libs/platform/src/jobs/jobs.repository.js';
import { HousekeepingService } from '../../libs/platform/src/jobs/housekeeping.service.js';
import { createLogger } from '../../libs/platform/src/logger.js';

const OURS = 1;
const OTHERS = 2;

describe('tables on a coordinator and two workers of Citus', () => {
  let test: TestDatabase;
  let workers: string[];

  beforeAll(async () => {
    test = await createTestDatabase();
    const { pathname } = new URL(test.adminUrl);
    const [, ...servers] = (process.env['MAILWRIGHT_TEST_CITUS'] ?? '').split(',');
    workers = servers.map((server) => `${server}${pathname}`);
  });

  afterAll(() => test?.drop());

  /** Runs statements in one transaction as the programs do; resolves to the rows of the last. */
  async function as(environment: number, url: string, ...statements: string[]): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query('begin; set local role mailwright_app');
      await client.query(`set local mailwright.environment_id = '${environment}'`);
      let rows: unknown[] = [];
      for (const statement of statements) ({ rows } = await client.query(statement));
      await client.query('commit');
      return rows;
    } finally {
      await client.end();
    }
  }

  const connect = (applicationName: string) =>
    Database.connect({ url: test.url, poolSize: 2, applicationName, entities: [] });

  const topicOf = (environment: number) =>
    `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
     values (gen_random_uuid(), ${environment}, 'A-${environment}', 'News', 'ACTIVE', false, now(), now())`;

  it('spread all tables of environments, those of one environment together', async () => {
    const [spread] = await test.query<{ tables: number; groups: number }>(
      `select count(*)::int as tables, count(distinct colocationid)::int as groups
       from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
       where p.partmethod = 'h' and not c.relispartition`,
    );
    expect(spread).toEqual({ tables: expect.any(Number), groups: 1 });
    expect(spread?.tables).toBeGreaterThan(50);
  });

  it('are left as they are when they are spread again', async () => {
    const again = await distribute(test.adminUrl);
    expect(again.distributed).toEqual([]);
    expect(again.unchanged.length).toBeGreaterThan(50);
  });

  it('let no node keep plans of triggers, which would grow', async () => {
    for (const url of [test.adminUrl, ...workers])
      expect(await query(url, 'show plan_cache_mode')).toEqual([{ plan_cache_mode: 'force_custom_plan' }]);
  });

  it('show an environment its own rows and no other, by the coordinator', async () => {
    const url = test.adminUrl;
    for (const environment of [OURS, OTHERS]) await as(environment, url, topicOf(environment));
    expect(await as(OURS, url, 'select environment_id::int as of from audience.topics')).toEqual([
      { of: OURS },
    ]);
    await expect(as(OURS, url, topicOf(OTHERS))).rejects.toThrow('row-level security');
    const theirs = `update audience.topics set name = 'Mine' where environment_id = ${OTHERS} returning id`;
    expect(await as(OURS, url, theirs)).toEqual([]);
  });

  it('show no other on a worker either, in the table of a shard itself', async () => {
    let seen = 0;
    for (const url of workers) {
      const shards = await query<{ name: string }>(
        url,
        `select shardid, format('audience.topics_%s', shardid) as name from pg_dist_shard
         where to_regclass(format('audience.topics_%s', shardid)) is not null
           and logicalrelid = 'audience.topics'::regclass`,
      );
      for (const { name } of shards) {
        const rows = await as(OURS, url, `select environment_id::int as of from ${name}`);
        expect(rows).toEqual(rows.map(() => ({ of: OURS })));
        seen += rows.length;
      }
    }
    expect(seen).toBe(1);
  });

  it('let the app change its own project, and delete none', async () => {
    const { live } = await createProject(test);
    const inProject = (statement: string) =>
      as(
        live.environmentId,
        test.adminUrl,
        `set local mailwright.project_id = '${live.projectId}'; set local mailwright.tenant_id = '${live.tenantId}'`,
        'select id from access.projects for update',
        statement,
      );
    const renamed = `update access.projects set name = 'Renamed' returning name`;
    expect(await inProject(renamed)).toEqual([{ name: 'Renamed' }]);
    for (const table of ['access.projects', 'access.tenants'])
      expect(await inProject(`delete from ${table} returning id`)).toEqual([]);
  });

  it('let the app enqueue no job of another environment', async () => {
    const { live, test: other } = await createProject(test);
    const database = await connect('jobs-of-others');
    const job = jobType('segments.evaluate', 'segments')({});
    const enqueued = database.transaction(live, () => enqueue(database, other, job));
    await expect(enqueued).rejects.toThrow('row-level security');
    await database.transaction(live, () => enqueue(database, live, job));
    await database.close();
    const jobs = await test.query('select environment_id::int as of from platform.jobs');
    expect(jobs).toEqual([{ of: live.environmentId }]);
  });

  it('get the months to come on the nodes of the months before', async () => {
    const december = `${new Date().getUTCFullYear() + 1}12`;
    const database = await connect('months-to-come');
    const clock = new ManualClock(new Date(`${december.slice(0, 4)}-12-15T00:00:00Z`));
    const logger = createLogger({ LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }, 'spec');
    await new HousekeepingService(database, clock, logger).createPartitions();
    await database.close();
    const months = await test.query<{ together: boolean }>(
      `select coalesce(month.colocationid = whole.colocationid, false) as together
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
       join pg_dist_partition whole on whole.logicalrelid = i.inhparent
       left join pg_dist_partition month on month.logicalrelid = i.inhrelid
       where c.relname like '%\\_' || $1`,
      [december],
    );
    expect(months).toEqual(Array.from({ length: 6 }, () => ({ together: true })));
    const step = `insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status)
      values (${OURS}, now(), '${december.slice(0, 4)}-12-24', 0, gen_random_uuid(), 'DONE')`;
    await as(OURS, test.adminUrl, step);
    const steps = 'select environment_id::int as of from messaging.automation_steps';
    expect(await as(OURS, test.adminUrl, steps)).toEqual([{ of: OURS }]);
    expect(await as(OTHERS, test.adminUrl, steps)).toEqual([]);
    expect(await test.query(`select 1 as found from messaging.automation_steps_${december}`)).toHaveLength(1);
  });

  it('let a large environment have a node to itself, with its rows, and say so when asked again', async () => {
    const { node } = await isolate(test.adminUrl, OURS, undefined);
    const [other] = workers.map((url) => new URL(url).host).filter((host) => host !== node);
    expect(await isolate(test.adminUrl, OURS, other)).toEqual({ node: other, wasAlone: true, isMoved: true });
    expect(await isolate(test.adminUrl, OURS, other)).toEqual({
      node: other,
      wasAlone: true,
      isMoved: false,
    });
    expect(await as(OURS, test.adminUrl, 'select environment_id::int as of from audience.topics')).toEqual([
      { of: OURS },
    ]);
    await expect(isolate(test.adminUrl, OURS, '127.0.0.1:1')).rejects.toThrow('has no node 127.0.0.1:1');
  });
});
