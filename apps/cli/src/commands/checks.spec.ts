import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AuditLogService, Database } from '#platform';
import { SystemClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { insertSubscribers } from '#testing/fixtures/subscribers';

const TOPIC = '01936e5c-0000-7000-8000-000000000001';

describe('check:counters', () => {
  let test: TestDatabase;
  let environmentId: number;

  beforeAll(async () => {
    test = await createTestDatabase();
    const { live } = await createProject(test);
    environmentId = live.environmentId;
    await test.query(
      `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
       values ($1, $2, 'APIT-1', 'News', 'ACTIVE', false, now(), now())`,
      [TOPIC, environmentId],
    );
    await insertSubscribers(test, live, TOPIC, 10);
  });
  afterAll(() => test.drop());

  const run = (...options: readonly string[]) =>
    runCli({ DATABASE_URL: test.url }, ['check:counters', ...options]);

  it('finds nothing wrong with counters that were kept', async () => {
    expect(await runCliForJson({ DATABASE_URL: test.url }, ['check:counters'])).toEqual({
      counters: 3,
      differences: [],
      statusDifferences: [],
      strayConsents: [],
      repaired: 0,
    });
  });

  it('ends with 1 and names a counter that is wrong, until it is repaired', async () => {
    await test.query(`update audience.counter_deltas set delta = 7 where kind = 'SUBSCRIBED'`);
    const found = await run('--json');
    expect(found.exitCode).toBe(1);
    expect(JSON.parse(found.stdout)).toMatchObject({
      differences: [
        { environmentId, kind: 'SUBSCRIBED', key: TOPIC, state: 'ACTIVE', counter: 7, counted: 10 },
      ],
    });
    expect(JSON.parse(found.stderr)).toEqual({
      error: { code: 'counters-differ', message: '1 counter is wrong.' },
    });
    const repaired = await run('--repair');
    expect(repaired).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Repaired 1.') });
    expect(await run()).toMatchObject({
      exitCode: 0,
      stdout: '3 counters were compared with their rows.\n',
    });
  });

  it('ends with 1 when a subscriber has not the status that follows from suppression and consents', async () => {
    await test.query(`update audience.consents set status = 'UNSUBSCRIBED' where subscriber_id = (
      select id from audience.subscribers limit 1)`);
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/ACTIVE +UNSUBSCRIBED +1/);
    await test.query(`update audience.consents set status = 'SUBSCRIBED'`);
  });

  it('ends with 1 when there are consents of nobody or to no topic', async () => {
    await test.query(
      `insert into audience.consents (subscriber_id, topic_id, environment_id, status, subscriber_status, subscriber_created_at)
       select platform.new_id(), $1::uuid, $2::bigint, 'UNSUBSCRIBED', 'ACTIVE', now() from generate_series(1, 3)
       union all select id, platform.new_id(), environment_id, 'UNSUBSCRIBED', status, created_at from audience.subscribers`,
      [TOPIC, environmentId],
    );
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/SUBSCRIBER +3/);
    expect(stdout).toMatch(/TOPIC +10/);
  });
});

describe('check:audit', () => {
  let test: TestDatabase;
  let environmentId: number;

  beforeAll(async () => {
    test = await createTestDatabase();
    environmentId = (await createProject(test)).live.environmentId;
    const entry = { actor: 'SYSTEM', action: 'createTopic', targetType: 'topic', outcome: 'SUCCEEDED' };
    await test.query(
      `insert into platform.audit_inbox (environment_id, occurred_at, id, entry)
       select $1, now(), gen_random_uuid(), $2 from generate_series(1, 3)`,
      [environmentId, entry],
    );
    const database = await Database.connect({
      url: test.url,
      poolSize: 1,
      applicationName: 'spec',
      entities: [],
    });
    await new AuditLogService(database, new SystemClock()).chainWaiting();
    await database.close();
  });
  afterAll(() => test.drop());

  const run = () => runCli({ DATABASE_URL: test.url }, ['check:audit']);
  const asOwner = (statement: string) =>
    test.query(
      `do $$ begin alter table platform.audit_log disable trigger user; ${statement}; alter table platform.audit_log enable trigger user; end $$`,
    );

  it('shows the end of each chain, to be kept elsewhere', async () => {
    const checked = await runCliForJson({ DATABASE_URL: test.url }, ['check:audit']);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(checked).toEqual({ rows: 3, heads: [{ environmentId, sequence: 3, hash }] });
    expect((await run()).stdout).toMatch(
      /^3 rows are as they were written\. Keep the last of each elsewhere/,
    );
  });

  it('ends with 1 and names a row that its owner has changed, and one that is missing', async () => {
    await asOwner(`update platform.audit_log set outcome = 'REFUSED' where sequence = 2`);
    const changed = await run();
    expect([changed.exitCode, changed.stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`\\n${environmentId} +2 +is not what its hash says`)),
    ]);
    await asOwner('delete from platform.audit_log where sequence = 2');
    expect((await run()).stderr).toMatch(new RegExp(`\\n${environmentId} +3 +rows are missing from 2 on`));
  });
});
