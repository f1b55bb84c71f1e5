import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { createLogger } from '../logger.js';
import { databaseChecks, HealthChecks, logDatabaseOutages } from '../operations.js';
import { Database } from './database.js';

const scopeOf = (environmentId: number): ProjectScope => ({
  tenantId: 1,
  projectId: 1,
  environmentId,
  environment: 'TEST',
});

const NEW_TOPIC = (environmentId: number) => sql`
  insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
  values (gen_random_uuid(), ${environmentId}, 'T-' || gen_random_uuid(), 'News', 'ACTIVE', true, now(), now())`;
const TOPICS = sql<{ count: number }>`select count(*) from audience.topics`;

describe('a read that may be late', () => {
  let test: TestDatabase;
  const open: Database[] = [];

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((database) => database.close()));
  });
  afterAll(() => test.drop());

  async function connect(readUrl?: string): Promise<Database> {
    const database = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'late',
      entities: [],
      readUrl,
    });
    open.push(database);
    return database;
  }
  /** The replica of these is the primary itself, which has all that it has. */
  const connectTwice = () => connect(test.url);
  const unreachable = async () => connect(test.url.replace(/:\d+\//, `:${await freePort()}/`));

  const add = (database: Database, environmentId: number) =>
    database.transaction(scopeOf(environmentId), () => NEW_TOPIC(environmentId).execute(database.tables()));
  const count = async (database: Database, environmentId: number) => {
    const read = () => TOPICS.execute(database.tables());
    return (await database.read(scopeOf(environmentId), { onReplica: true }, read)).rows[0]?.count;
  };
  /** A busy machine may be too slow for the replica now and then. */
  const answeredByReplica = (database: Database) =>
    eventually('the replica answers', async () => {
      await count(database, 1);
      return database.replica!.answered.replica > 0;
    });

  it.each([
    ['without a replica', connect],
    ['with a replica', connectTwice],
    ['with one that cannot be reached', unreachable],
  ])('shows a scope its own rows, and what was just written among them, %s', async (name, connecting) => {
    const database = await connecting();
    const [one, other] = [name.length * 10, name.length * 10 + 1];
    for (let written = 1; written <= 20; written += 1) {
      await add(database, one);
      expect([await count(database, one), await count(database, other)]).toEqual([written, 0]);
    }
  });

  it('goes to the replica where there is one, and else to the primary', async () => {
    expect((await connect()).replica).toBeUndefined();
    const database = await connectTwice();
    await answeredByReplica(database);
    await eventually('it is found fit', () =>
      database.replica!.check().then(
        () => true,
        () => false,
      ),
    );
    const lonely = await unreachable();
    await count(lonely, 1);
    expect(lonely.replica!.answered).toEqual({ replica: 0, primary: 1 });
    await expect(lonely.replica!.check()).rejects.toThrow('DATABASE_READ_URL');
  });

  it.each([
    [
      'does not answer',
      async () => ({ port: String(await freePort()) }),
      'PostgreSQL does not answer at the host and port of DATABASE_READ_URL. Is it running, and may this machine reach it?',
    ],
    [
      'refuses the login',
      async () => ({ username: 'nobody' }),
      'PostgreSQL refuses the user and password of DATABASE_READ_URL.',
    ],
  ])('says of a replica that %s why it is not read, and logs it once', async (_, changes, reason) => {
    const database = await connect(Object.assign(new URL(test.url), await changes()).href);
    const lines: string[] = [];
    const destination = new Writable({
      write: (chunk: Buffer, _encoding, done) => done(void lines.push(chunk.toString())),
    });
    logDatabaseOutages(
      database,
      createLogger({ LOG_LEVEL: 'info', LOG_FORMAT: 'json' }, 'spec', destination),
    );
    const health = new HealthChecks(databaseChecks(database));
    await eventually('the reason is known', async () => {
      const readiness = await health.readiness();
      expect(readiness).toMatchObject({ status: 'degraded', checks: { readReplica: 'failed' } });
      return readiness.reasons?.['readReplica'] === reason;
    });
    for (let times = 0; times < 3; times += 1) await count(database, 1);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        level: 'error',
        reason,
        msg: 'The read replica cannot be used: the primary answers all reads',
      }),
    ]);
  });

  it.each([
    ['without a replica', connect],
    ['with a replica', connectTwice],
  ])('cannot write, %s', async (_, connecting) => {
    const database = await connecting();
    const write = () =>
      database.read(scopeOf(5), { onReplica: true }, () => NEW_TOPIC(5).execute(database.tables()));
    await expect(write()).rejects.toThrow('read-only transaction');
    await expect(database.transaction(scopeOf(5), write)).rejects.toThrow('read-only transaction');
    const joined = database.read(scopeOf(5), { onReplica: true }, () => add(database, 5));
    await expect(joined).rejects.toThrow('read-only transaction');
    await expect(database.read(scopeOf(5), { onReplica: true }, async () => database.em)).rejects.toThrow(
      'no unit of work',
    );
    expect(await count(database, 5)).toBe(0);
  });

  it.each([
    ['without a replica', connect],
    ['with a replica', connectTwice],
  ])('leaves the transaction that it is asked in free to write, %s', async (name, connecting) => {
    const database = await connecting();
    const id = name.length * 100;
    const timeout = sql<{
      timeout: string;
    }>`select current_setting('idle_in_transaction_session_timeout') as timeout`;
    const seen = await database.transaction(scopeOf(id), async () => {
      const before = await count(database, id);
      await add(database, id);
      return [before, (await timeout.execute(database.tables())).rows[0]?.timeout];
    });
    // It may idle for as long as the replica takes.
    expect(seen).toEqual([0, connecting === connect ? '1min' : '0']);
    expect(await count(database, id)).toBe(1);
    const other = database.transaction(scopeOf(id), () => count(database, id + 1));
    await expect(other).rejects.toThrow('another scope');
  });

  it('is done once more by the primary when the replica is lost meanwhile, and not for an error of its own', async () => {
    const database = await connect(`${test.url}?application_name=replica`);
    const cut = sql`select pg_terminate_backend(pg_backend_pid()) where current_setting('application_name') = 'replica'`;
    await eventually('the replica is lost while it is read', async () => {
      let times = 0;
      const read = async () => {
        times += 1;
        await cut.execute(database.tables());
        return TOPICS.execute(database.tables());
      };
      expect((await database.read(scopeOf(7), { onReplica: true }, read)).rows).toEqual([{ count: 0 }]);
      return times === 2;
    });
    expect(database.replica!.answered).toMatchObject({ replica: 0 });
    let failures = 0;
    const failing = database.read(scopeOf(7), { onReplica: true }, async () => {
      failures += 1;
      throw new Error('not found');
    });
    await expect(failing).rejects.toThrow('not found');
    expect(failures).toBe(1);
  });
});
