import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate } from '../../libs/platform/src/database/migrations.js';
import {
  type PostgresServer,
  startPostgres,
} from '../../libs/platform/src/embedded-postgres/embedded-postgres.js';
import { openTestDatabase } from '../support/database.js';
import { eventually } from '../support/eventually.js';
import { startSystemOn } from '../support/system.js';
import { CampaignRun, DEADLINE_MS, inForm, RECIPIENTS } from './campaign-run.fixture.js';

const CONNECTIONS = 5;
const CRASHES = inForm(2, 5);

describe('a PostgreSQL that is stopped at once, in the middle of a campaign', () => {
  let directory: string;
  let postgres: PostgresServer;
  let run: CampaignRun;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mailwright-chaos-'));
    await chmod(directory, 0o711); // PostgreSQL runs as another user when the tests run as root
    postgres = await startPostgres({ directory: join(directory, 'postgres') });
    await postgres.ensureDatabase('chaos');
    await migrate(postgres.url('chaos'));
    run = await CampaignRun.open(CONNECTIONS, {}, (variables) =>
      startSystemOn(openTestDatabase(postgres.url('chaos')), variables),
    );
  }, DEADLINE_MS);

  afterAll(async () => {
    await run?.close();
    await postgres?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** The immediate shutdown: nothing is written down, and the next start recovers. */
  async function crash(): Promise<void> {
    const { port } = postgres;
    process.kill(postgres.pid, 'SIGQUIT');
    await postgres.exited;
    postgres = await startPostgres({ directory: join(directory, 'postgres'), port });
  }

  it(
    'loses nobody, counts each e-mail once, and repeats at most what was on the wires',
    async () => {
      const campaign = await run.send('NEWS', RECIPIENTS);
      for (let crashes = 1; crashes <= CRASHES; crashes += 1) {
        const share = (RECIPIENTS * crashes) / (CRASHES + 1);
        await eventually('some more are sent', () => run.sink.count() >= share, DEADLINE_MS);
        await crash();
      }
      await campaign.isSent();
      const rows = await campaign.rows();
      const received = await campaign.received();
      expect(received.size).toBe(RECIPIENTS);
      expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
      expect(await campaign.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
      const repeated = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
      expect(repeated.length).toBeLessThanOrEqual(CONNECTIONS * CRASHES);
      const marked = rows.filter((row) => row.possible_duplicate).map((row) => row.message_id);
      expect(marked).toEqual(expect.arrayContaining(repeated));
    },
    DEADLINE_MS * 2,
  );
});
