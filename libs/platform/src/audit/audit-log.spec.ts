import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { Database } from '../database/database.js';
import { checkAuditLogs } from './audit-chain.js';
import { AuditLogService } from './audit-log.service.js';
import { type AuditedCall, AuditTrail } from '../database/audit-trail.js';

const DAY_MS = 86_400_000;

describe('an audit log', () => {
  let test: TestDatabase;
  let database: Database;
  let scope: ProjectScope;
  let log: AuditLogService;
  const clock = new ManualClock(new Date());

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 8,
      applicationName: 'audit-log-spec',
      entities: [],
    });
    log = new AuditLogService(database, clock);
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });
  beforeEach(async () => {
    scope = (await createProject(test)).live;
  });

  const trail = (call: Partial<AuditedCall> = {}) =>
    new AuditTrail({
      environmentId: scope.environmentId,
      actor: { type: 'KEY', keyId: null, address: '203.0.113.9' },
      requestId: 'request',
      action: 'createTopic',
      targetType: 'topic',
      targetId: null,
      items: null,
      ...call,
    });
  /** A change that writes something of the environment. */
  const change = () =>
    sql`insert into platform.idempotency_keys
        (environment_id, api_key_id, method, path, key, body_hash, locked_until, created_at, expires_at)
      values (${scope.environmentId}, gen_random_uuid(), 'POST', '/', gen_random_uuid(), '', now(), now(), now())`.execute(
      database.tables(),
    );
  const changes = async (times: number) => {
    for (let time = 0; time < times; time += 1) await trail().run(() => database.transaction(scope, change));
  };
  /** Entries of so many days ago. */
  const waiting = (times: number, days: number) =>
    test.query(
      `insert into platform.audit_inbox (environment_id, occurred_at, id, entry)
       select $1, now() - $2 * interval '1 day', gen_random_uuid(), jsonb_build_object('actor', 'SYSTEM', 'action', 'old',
         'targetType', 'topic', 'outcome', 'SUCCEEDED', 'after', jsonb_build_object('b', 1.50, 'a', 'ü "x"'))
       from generate_series(1, $3)`,
      [scope.environmentId, days, times],
    );
  const page = async (size = 100) => (await log.page(scope, {}, { size })).items;
  const faults = async () =>
    (await checkAuditLogs(database, clock.now())).faults
      .filter(({ environmentId }) => environmentId === scope.environmentId)
      .map(({ sequence, fault }) => [sequence, fault]);
  /** Citus asks for it to be said that triggers touch rows of their own shard alone. */
  const asOwner = (statement: string) =>
    test.query(
      `do $$ begin perform set_config('citus.enable_unsafe_triggers', 'on', true); alter table platform.audit_log disable trigger user; ${statement}; alter table platform.audit_log enable trigger user; end $$`,
    );
  const inboxed = async () =>
    (
      await test.query<{ outcome: string }>(
        `select entry ->> 'outcome' as outcome from platform.audit_inbox where environment_id = $1`,
        [scope.environmentId],
      )
    ).map(({ outcome }) => outcome);

  describe('gets an entry', () => {
    it('with the change, in its transaction, or not at all', async () => {
      const failing = trail();
      const failed = failing.run(() =>
        database.transaction(scope, async () => {
          await change();
          throw new Error('no');
        }),
      );
      await expect(failed).rejects.toThrow('no');
      expect([failing.isWritten, await inboxed()]).toEqual([false, []]);
      await changes(1);
      expect(await inboxed()).toEqual(['SUCCEEDED']);
    });

    it('that cannot be written keeps the change from being committed', async () => {
      await test.query(
        `alter table platform.audit_inbox add constraint never check (entry is null) not valid`,
      );
      const one = trail();
      await expect(one.run(() => database.transaction(scope, change))).rejects.toThrow(/never/);
      await test.query('alter table platform.audit_inbox drop constraint never');
      expect(one.isWritten).toBe(false);
      const left = await test.query('select from platform.idempotency_keys where environment_id = $1', [
        scope.environmentId,
      ]);
      expect(left).toEqual([]);
    });

    it('by the first transaction that writes, once', async () => {
      const one = trail();
      await one.run(async () => {
        await database.transaction(scope, () => sql`select 1 for update`.execute(database.tables()));
        expect(one.isWritten).toBe(false);
        await database.transaction(scope, change);
        expect(one.isWritten).toBe(true);
        await database.transaction(scope, change);
      });
      expect(await inboxed()).toEqual(['SUCCEEDED']);
    });

    it('not for what a call left behind, nor for work in another environment', async () => {
      const ended = trail();
      ended.close();
      await ended.run(() => database.transaction(scope, change));
      await trail({ environmentId: scope.environmentId + 1 }).run(() => database.transaction(scope, change));
      expect(await inboxed()).toEqual([]);
    });
  });

  describe('is a chain', () => {
    it('without gaps, whoever chains at the same time', async () => {
      await Promise.all([changes(20), changes(20), page(), page(), log.chainWaiting(), changes(20)]);
      await log.chainWaiting();
      const sequences = (await page()).map(({ sequence }) => sequence);
      expect(sequences.toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
      expect(await faults()).toEqual([]);
    });

    it('in which a changed, a removed and an added row are found, by their numbers', async () => {
      await waiting(5, 0);
      await page();
      const of = (sequence: number) =>
        `where environment_id = ${scope.environmentId} and sequence = ${sequence}`;
      await asOwner(`update platform.audit_log set outcome = 'REFUSED' ${of(2)}`);
      expect(await faults()).toEqual([[2, 'is not what its hash says']]);
      await asOwner(`update platform.audit_log set outcome = 'SUCCEEDED' ${of(2)}`);
      expect(await faults()).toEqual([]);
      for (const column of ['after', 'key_name', 'network', 'occurred_at', 'target_id', 'action']) {
        const other =
          column === 'after' ? `'{"a": 1}'` : column === 'occurred_at' ? `now() - interval '1 hour'` : `'x'`;
        await asOwner(
          `create table kept as select * from platform.audit_log ${of(3)};
           update platform.audit_log set ${column} = ${other} ${of(3)}`,
        );
        expect([column, await faults()]).toEqual([column, [[3, 'is not what its hash says']]]);
        await asOwner(
          `update platform.audit_log l set ${column} = k.${column} from kept k where l.id = k.id; drop table kept`,
        );
      }
      await asOwner(`delete from platform.audit_log ${of(4)}`);
      expect(await faults()).toEqual([[5, 'rows are missing from 4 on']]);
      await asOwner(
        `insert into platform.audit_log select environment_id, 4, gen_random_uuid(), occurred_at, actor_type, key_id, key_name,
           network, request_id, action, target_type, target_id, items, outcome, problem, before, after, previous_hash, hash
         from platform.audit_log ${of(3)}`,
      );
      expect((await faults()).map(([sequence]) => sequence)).toEqual([4, 4, 5]);
    });

    it('which must not wait for long', async () => {
      await waiting(1, 1);
      expect(await faults()).toEqual([
        [null, expect.stringMatching(/^entries wait since .*: does a worker run\?$/)],
      ]);
    });
  });

  describe('that is old', () => {
    it('is let go from its beginning after 400 days, and the rest stays provable', async () => {
      await waiting(3, 401);
      await page();
      await waiting(1, 399);
      await page();
      await waiting(2, 402);
      await page();
      await log.trim();
      expect((await page()).map(({ sequence }) => sequence).toSorted((a, b) => a - b)).toEqual([4, 5, 6]);
      expect(await faults()).toEqual([]);
      await waiting(1, 0);
      expect((await page()).map(({ sequence }) => sequence)).toContain(7);
      expect(await faults()).toEqual([]);
      await asOwner(
        `delete from platform.audit_log where environment_id = ${scope.environmentId} and sequence = 4`,
      );
      expect(await faults()).toEqual([[5, 'rows are missing from 4 on']]);
    });

    it('stays for 13 months by the server’s clock, whatever the program’s says', async () => {
      await waiting(2, 300);
      await page();
      const early = new AuditLogService(database, new ManualClock(new Date(Date.now() + 1_000 * DAY_MS)));
      await early.trim();
      expect(await page()).toHaveLength(2);
    });
  });
});
