import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type CitusCluster, createCitusDatabase, query, startCitus } from '#testing/postgres/citus';
import { openTestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { runCli } from '#testing/programs/operator-cli';
import { startSystemOn } from '#testing/programs/system';
import { type CampaignOnItsWay, CampaignRun } from '../long/chaos/campaign-run.fixture.js';

const ENVIRONMENTS = 20;
/** Recipients of each environment: 5 000 by hand, which are 100 000 in all. */
const RECIPIENTS = Number(process.env['CITUS_RECIPIENTS'] ?? 100);
const ALL = ENVIRONMENTS * RECIPIENTS;
const CONNECTIONS = 5;
/** Both nodes crash, and each of two workers is killed. */
const DEATHS = 4;
const DEADLINE_MS = 3_600_000;
const NAME = 'killed_nodes';
/** Citus leaves the tables of shards out of what a connection finds in the catalog otherwise. */
const SHOWING_SHARDS = `options=${encodeURIComponent('-c citus.override_table_visibility=off')}`;

describe('campaigns of twenty environments on Citus, whose nodes crash and whose workers are killed', () => {
  let cluster: CitusCluster;
  let run: CampaignRun;
  let campaigns: CampaignOnItsWay[];

  beforeAll(async () => {
    cluster = await startCitus();
    const servers = cluster.nodes.map(({ server }) => server);
    const url = await createCitusDatabase(servers, NAME, 'mailwright:of-the-tests');
    run = await CampaignRun.open(CONNECTIONS, {}, (variables) =>
      startSystemOn(openTestDatabase(url), variables),
    );
    await run.addWorker();
    campaigns = [];
    for (let at = 0; at < ENVIRONMENTS; at += 1) campaigns.push(await run.send('NEWS', RECIPIENTS));
    const [, ...nodes] = cluster.nodes;
    for (const [at, node] of nodes.entries()) {
      await nextShare(2 * at + 1);
      await node.crash();
      await node.start();
      await nextShare(2 * at + 2);
      await run.replaceWorker(at);
    }
    await Promise.all(campaigns.map((campaign) => campaign.isSent()));
  }, DEADLINE_MS);

  afterAll(async () => {
    await run?.close();
    await cluster?.stop();
  });

  const nextShare = (share: number) =>
    eventually('some more are sent', () => run.sink.count() >= (ALL * share) / (DEATHS + 1), DEADLINE_MS);

  it('lose nobody, and repeat at most what was on their connections', async () => {
    let repeated = 0;
    for (const campaign of campaigns) {
      const rows = await campaign.rows();
      expect(rows).toHaveLength(RECIPIENTS);
      expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
      const received = await campaign.received();
      expect(received.size).toBe(RECIPIENTS);
      expect(await campaign.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
      const twice = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
      const marked = rows.filter((row) => row.possible_duplicate).map((row) => row.message_id);
      expect(marked).toEqual(expect.arrayContaining(twice));
      repeated += twice.length;
    }
    expect(repeated).toBeLessThanOrEqual(CONNECTIONS * DEATHS);
  });

  it('leave figures that are what the rows say', async () => {
    for (const command of [
      'check:counters',
      'check:statistics',
      'check:credits',
      'check:automations',
      'check:audit',
    ]) {
      const outcome = await runCli({ DATABASE_URL: run.system.database.adminUrl }, [command]);
      expect({ command, ...outcome }).toMatchObject({ command, exitCode: 0 });
    }
  });

  it('let an environment see no row of another on any node, in the table of any shard', async () => {
    const [environment] = await run.system.database.query<{ id: number }>(
      `select environment_id::int as id from messaging.deliveries limit 1`,
    );
    let seen = 0;
    for (const { server } of cluster.nodes.slice(1)) {
      const shards = await query<{ name: string }>(
        `${server}/${NAME}?${SHOWING_SHARDS}`,
        `select format('%I.%I', n.nspname, c.relname) as name
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname in ('audience', 'messaging') and c.relname ~ '_1\\d{5,}$' and c.relkind in ('r', 'p')
           and has_table_privilege('mailwright_app', c.oid, 'select')
           and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id')`,
      );
      expect(shards.length).toBeGreaterThan(80);
      seen += await rowsOf(environment!.id, `${server}/${NAME}`, shards);
    }
    expect(seen).toBeGreaterThan(2 * RECIPIENTS);
  });

  /** Number of rows that the app sees in these tables, all of which must be of the environment. */
  async function rowsOf(
    environment: number,
    url: string,
    shards: readonly { readonly name: string }[],
  ): Promise<number> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(
        `begin; set local role mailwright_app; set local mailwright.environment_id = '${environment}'`,
      );
      let seen = 0;
      for (const { name } of shards) {
        const { rows } = await client.query<{ own: number; others: number }>(
          `select count(*) filter (where environment_id = $1)::int as own,
             count(*) filter (where environment_id <> $1)::int as others from ${name}`,
          [environment],
        );
        expect({ name, ...rows[0] }).toMatchObject({ name, others: 0 });
        seen += rows[0]?.own ?? 0;
      }
      return seen;
    } finally {
      await client.end();
    }
  }
});
