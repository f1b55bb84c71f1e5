import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '../../libs/platform/src/database/database.js';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type RunningSystem, startSystemOn } from '#testing/programs/system';
import { describeWith } from './parts.js';
import { type ReplicatedPostgres, startReplicatedPostgres } from './support/replicated-postgres.js';

const READERS = 5;
const WRITES = 200;
const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: '<p>Hello</p>' }] });

const scopeOf = (environmentId: number): ProjectScope => ({
  tenantId: 1,
  projectId: 1,
  environmentId,
  environment: 'TEST',
});
const TOPICS = sql<{ count: number }>`select count(*) from audience.topics`;
const newTopic = (environmentId: number) => sql`
  insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
  values (gen_random_uuid(), ${environmentId}, 'T-' || gen_random_uuid(), 'News', 'ACTIVE', true, now(), now())`;

describeWith(['postgresql'], 'A replica that follows by PostgreSQL’s own replication', () => {
  let postgres: ReplicatedPostgres;

  beforeAll(async () => {
    postgres = await startReplicatedPostgres();
  });
  afterAll(() => postgres?.stop());

  async function pauseReplay(): Promise<void> {
    await postgres.standby.query('select pg_wal_replay_pause()');
    await eventually('replay is paused', async () => {
      const state = 'select pg_get_wal_replay_pause_state() as state';
      return (await postgres.standby.query<{ state: string }>(state))[0]?.state === 'paused';
    });
  }
  const resumeReplay = () => postgres.standby.query('select pg_wal_replay_resume()');

  describe('behind the api and the worker', () => {
    let system: RunningSystem;
    let client: ApiClient;
    let campaign: string;

    beforeAll(async () => {
      const database = { ...postgres.primary, drop: () => Promise.resolve() };
      system = await startSystemOn(database, { DATABASE_READ_URL: postgres.standby.url });
      client = await (await system.project()).client('TEST');
    });
    afterAll(() => system?.stop());

    const ask = (path: string, port = system.api.port) => fetch(`http://127.0.0.1:${port}${path}`);
    /** Replica reads that each server has answered to a program. */
    async function answered(port = system.api.port): Promise<Record<'replica' | 'primary', number>> {
      const metrics = await (await ask('/metrics', port)).text();
      const by = (server: string) =>
        Number(
          new RegExp(`^mailwright_late_reads_total\\{server="${server}"\\} (.*)$`, 'm').exec(metrics)?.[1],
        );
      return { replica: by('replica'), primary: by('primary') };
    }

    /** A campaign that was sent this moment. */
    async function sendCampaign(): Promise<void> {
      const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
      const topicKeys = [topic.at('topicKey')];
      for (let reader = 0; reader < READERS; reader += 1) {
        const email = `reader${reader}@example.com`;
        await client.post('/subscribers', { email, topicKeys, consent: { source: 'form' } });
      }
      const draft = { name: 'Autumn', subject: 'Autumn', contentJson, topicIds: [topic.at('id')] };
      campaign = `/campaigns/${(await client.post('/campaigns', draft)).at('campaignKey')}`;
      expect((await client.post(`${campaign}/send`)).status).toBe(200);
      const isSent = async () => (await client.get(campaign)).at('status') === 'SENT';
      await eventually('the campaign is sent', isSent);
    }

    /** All that may be late, and nothing of it is. */
    async function expectAll(): Promise<void> {
      const list = await client.get(`${campaign}/deliveries?status=SENT`);
      expect([list.status, list.at('pagination', 'totalElements')]).toEqual([200, READERS]);
      expect(list.at('data')).toHaveLength(READERS);
      const csv = await client.get(`${campaign}/report/export?rows=deliveries`);
      expect([csv.status, csv.text.trimEnd().split('\r\n')]).toEqual([
        200,
        [expect.stringMatching(/^subscriberId/), ...Array.from({ length: READERS }, () => expect.anything())],
      ]);
      expect((await client.get(`${campaign}/report/languages`)).at('countedAt')).toEqual(expect.any(String));
    }

    it('shows at once what was just written, though it does not replay', async () => {
      await pauseReplay();
      await sendCampaign();
      const [api, worker] = [await answered(), await answered(system.worker.port)];
      await expectAll();
      expect((await answered()).primary).toBeGreaterThan(api.primary);
      expect(await answered()).toMatchObject({ replica: api.replica });
      expect((await answered(system.worker.port)).primary).toBeGreaterThan(worker.primary);
      expect(await (await ask('/health/ready')).json()).toMatchObject({
        status: 'degraded',
        checks: { database: 'ok', readReplica: 'failed' },
      });
      expect((await ask('/health/ready')).status).toBe(200);
    });

    it('answers once it has caught up: lists and counts of the api, exports of the worker', async () => {
      await resumeReplay();
      for (const port of [system.api.port, system.worker.port])
        await eventually('the replica answers', async () => {
          await expectAll();
          return (await answered(port)).replica > 0;
        });
      await eventually(
        'it is found fit',
        async () => ((await (await ask('/health/ready')).json()) as { status: string }).status === 'ok',
      );
      const used = await postgres.standby.query<{ name: string }>(
        `select distinct application_name as name from pg_stat_activity where usename = 'mailwright' order by 1`,
      );
      expect(used.map(({ name }) => name)).toEqual(['mailwright-api', 'mailwright-worker']);
    });

    it('is done without when it is killed, and answers again when it is back', async () => {
      await postgres.killStandby();
      for (let times = 0; times < 5; times += 1) await expectAll();
      expect(await (await ask('/health/ready')).json()).toMatchObject({ status: 'degraded' });
      const { replica } = await answered();
      await postgres.startStandby();
      await eventually('the replica answers again', async () => {
        await expectAll();
        return (await answered()).replica > replica;
      });
    });
  });

  describe('behind two processes', () => {
    let writer: Database;
    let reader: Database;

    beforeAll(async () => {
      const options = { url: postgres.primary.url, poolSize: 2, applicationName: 'spec', entities: [] };
      writer = await Database.connect(options);
      reader = await Database.connect({ ...options, readUrl: postgres.standby.url });
    });
    afterAll(() => Promise.all([writer?.close(), reader?.close()]));

    const add = (environmentId: number) =>
      writer.transaction(scopeOf(environmentId), () => newTopic(environmentId).execute(writer.tables()));
    const read = async (environmentId: number) => {
      const topics = () => TOPICS.execute(reader.tables());
      return (await reader.read(scopeOf(environmentId), { onReplica: true }, topics)).rows[0]?.count;
    };

    it('shows the one, within its scope, all that the other has committed', async () => {
      for (let written = 1; written <= WRITES; written += 1) {
        await add(101);
        expect([await read(101), await read(102)]).toEqual([written, 0]);
      }
      await eventually('the replica answers', async () => {
        expect(await read(101)).toBe(WRITES);
        return reader.replica!.answered.replica > 0;
      });
    });

    it('refuses to be written to', async () => {
      const write = () => newTopic(103).execute(reader.tables());
      await expect(reader.read(scopeOf(103), { onReplica: true }, write)).rejects.toThrow(
        'read-only transaction',
      );
      const within = reader.transaction(scopeOf(103), () =>
        reader.read(scopeOf(103), { onReplica: true }, write),
      );
      await expect(within).rejects.toThrow('read-only transaction');
    });

    it('gives way to the primary when it cancels what is read, since it replays its removal', async () => {
      await add(104);
      const isStandby = sql<{ there: boolean }>`select pg_is_in_recovery() as there`;
      await eventually('a read is cancelled', async () => {
        const servers: boolean[] = [];
        await reader.read(scopeOf(104), { onReplica: true }, async () => {
          const there = (await isStandby.execute(reader.tables())).rows[0]!.there;
          servers.push(there);
          if (!there) return;
          // It ends by being cancelled alone.
          const reading = sql`select pg_sleep(3600) from audience.topics`.execute(reader.tables());
          await Promise.all([reading, removeMeanwhile()]);
        });
        return servers.length === 2;
      });
      expect(reader.replica!.answered.primary).toBeGreaterThan(0);
    });

    async function removeMeanwhile(): Promise<void> {
      const activity = `select from pg_stat_activity where query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()`;
      await eventually('it is read', async () => (await postgres.standby.query(activity)).length > 0);
      await postgres.primary.query('delete from audience.topics where environment_id = 104');
      await postgres.primary.query('vacuum audience.topics');
      await add(104);
    }

    it('is not believed once it is a server of its own', async () => {
      await eventually('it is found fit', () => isFit(reader));
      await postgres.standby.query('select pg_promote()');
      const options = { url: postgres.primary.url, poolSize: 2, applicationName: 'spec', entities: [] };
      const next = await Database.connect({ ...options, readUrl: postgres.standby.url });
      try {
        expect(await isFit(next)).toBe(false);
        await add(105);
        expect(await read(105)).toBe(1);
      } finally {
        await next.close();
      }
    });
  });
});

const isFit = (database: Database): Promise<boolean> =>
  database.replica!.check().then(
    () => true,
    () => false,
  );
