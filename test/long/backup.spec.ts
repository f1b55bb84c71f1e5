import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate } from '../../libs/platform/src/database/migrations.js';
import {
  type PostgresServer,
  startPostgres,
} from '../../libs/platform/src/embedded-postgres/embedded-postgres.js';
import { takeBaseBackup } from '#testing/postgres/base-backup';
import { ApiClient } from '#testing/http/api-client';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { runCli } from '#testing/programs/operator-cli';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { type RunningSystem, SECRETS, startSystemOn } from '#testing/programs/system';

const RECIPIENTS = 2_000;
const CONNECTIONS = 2;
/** See "What a crash can cost" in docs/sending.md: what a worker had claimed when it was lost together with PostgreSQL. */
const MOST_IN_DOUBT = 10 * CONNECTIONS;

interface DeliveryRow {
  readonly message_id: string;
  readonly state: string;
  readonly possible_duplicate: boolean;
}

describe('a backup that is taken while a campaign is sent', () => {
  let directory: string;
  let postgres: PostgresServer;
  let sink: RawSmtpSink;
  let system: RunningSystem;
  let restored: TestDatabase;
  let campaign: string;
  let key: string | null;
  const programs: RunningProgram[] = [];
  /** Number of mails that the sink had when the backup was complete, and when everything was lost. */
  const received = { atBackup: 0, atLoss: 0 };
  const variables = () => ({
    SMTP_URL: sink.url,
    SMTP_CONNECTIONS: String(CONNECTIONS),
    REQUIRE_VERIFIED_DOMAIN: 'false',
  });

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mailwright-backup-'));
    await chmod(directory, 0o711); // PostgreSQL runs as another user when the tests run as root
    sink = await startRawSmtpSink({ keep: 'index' });
    postgres = await startPostgres({ directory: join(directory, 'first') });
    await postgres.ensureDatabase('mailwright');
    await migrate(postgres.url('mailwright'));
    system = await startSystemOn(openTestDatabase(postgres.url('mailwright')), variables());
    const untilBackup = silentAfter(RECIPIENTS / 4);
    await sendCampaign();
    await eventually('some are sent', () => sink.count() >= RECIPIENTS / 10);
    await takeBaseBackup(
      postgres.url('mailwright'),
      join(directory, 'first'),
      join(directory, 'second'),
      () => (received.atBackup = sink.count()),
    );
    const untilLoss = silentAfter(RECIPIENTS / 2);
    untilBackup.answer();
    await eventually('some more are sent', () => sink.count() >= RECIPIENTS / 2);
    await loseEverything();
    received.atLoss = sink.count();
    untilLoss.end();
    postgres = await startPostgres({ directory: join(directory, 'second') });
    restored = openTestDatabase(postgres.url('mailwright'));
  });

  afterAll(async () => {
    await Promise.all([...programs, system?.worker, system?.api].map((program) => program?.stop()));
    await restored?.drop();
    await postgres?.stop();
    await sink?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Lets the sink keep its answers to itself once it has so many mails: the campaign is over no sooner than the test. */
  function silentAfter(mails: number): { end(): void; answer(): void } {
    const unanswered: (() => void)[] = [];
    const hold = (answer: () => void) => unanswered.push(answer);
    const end = sink.behave({ at: 'body', when: () => sink.count() >= mails, action: { hold } });
    return {
      end,
      answer: () => {
        end();
        for (const answer of unanswered) answer();
      },
    };
  }

  async function sendCampaign(): Promise<void> {
    const { database } = system;
    const project = await system.project();
    await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    const client = await project.client('LIVE');
    key = client.key;
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(database, project.live, topic.at('id'), RECIPIENTS);
    const created = await client.post('/campaigns', {
      name: 'News',
      subject: 'Hello {{ subscriber.first_name }}',
      contentText: 'Here is the news.',
      topicIds: [topic.at('id')],
    });
    campaign = `/campaigns/${created.at('campaignKey')}`;
    expect((await client.post(`${campaign}/send`)).status).toBe(200);
  }

  /** The programs and the server at once, with all that was not in the backup. */
  async function loseEverything(): Promise<void> {
    process.kill(postgres.pid, 'SIGQUIT');
    await Promise.all([system.worker.kill(), system.api.kill(), postgres.exited]);
    await system.database.drop();
    await rm(join(directory, 'first'), { recursive: true });
  }

  const inRestored = () => new ApiClient(`http://127.0.0.1:${programs[0]?.port}`, key);

  /** Every delivery, with the times at which the sink got it, counted from its first mail. */
  async function outcome(): Promise<{ rows: DeliveryRow[]; receipts: Map<string, number[]> }> {
    const rows = await restored.query<DeliveryRow>(
      `select message_id, state, possible_duplicate from messaging.deliveries`,
    );
    const receipts = new Map<string, number[]>(rows.map((row) => [row.message_id, []]));
    for (const [at, { messageId }] of sink.messages.entries()) receipts.get(messageId ?? '')?.push(at);
    return { rows, receipts };
  }

  it('is restored with all that was there, and its campaign can be stopped before anything is sent', async () => {
    const environment = { DATABASE_URL: restored.url, ...SECRETS, ...variables() };
    programs.push(await startProgram('api', environment));
    expect((await inRestored().post(`${campaign}/pause`)).status).toBe(200);
    programs.push(await startProgram('worker', { ...environment, PUBLIC_URL: inRestored().baseUrl }));
    for (const command of ['check:counters', 'check:statistics']) {
      const { exitCode, stdout } = await runCli(environment, [command]);
      expect([command, exitCode, stdout]).toEqual([command, 0, expect.anything()]);
    }
    expect((await inRestored().get(campaign)).at('status')).toBe('PAUSED');
    expect(sink.count()).toBe(received.atLoss);
  });

  it('goes on sending and loses nobody', async () => {
    expect((await inRestored().post(`${campaign}/resume`)).status).toBe(200);
    await eventually(
      'the campaign is sent',
      async () => (await inRestored().get(campaign)).at('status') === 'SENT',
    );
    const { rows, receipts } = await outcome();
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
    expect(receipts.size).toBe(RECIPIENTS);
    expect([...receipts.values()].filter((times) => times.length === 0)).toEqual([]);
  });

  it('repeats what was sent after the backup, once and with the same Message-ID, and nothing else unmarked', async () => {
    const { rows, receipts } = await outcome();
    const repeated = rows.filter((row) => (receipts.get(row.message_id)?.length ?? 0) > 1);
    const [before, after] = [
      repeated.filter(isBefore(receipts)),
      repeated.filter((row) => !isBefore(receipts)(row)),
    ];
    expect(Math.max(...[...receipts.values()].map((times) => times.length))).toBe(2);
    expect(after.length).toBeGreaterThan(0);
    expect(after.length).toBeLessThanOrEqual(received.atLoss - received.atBackup);
    expect(before.length).toBeLessThanOrEqual(MOST_IN_DOUBT);
    expect(before.filter((row) => !row.possible_duplicate)).toEqual([]);
  });

  /** Predicate: the first mail of a delivery arrived before the backup was complete. */
  function isBefore(receipts: ReadonlyMap<string, number[]>): (row: DeliveryRow) => boolean {
    return ({ message_id }) => (receipts.get(message_id)?.[0] ?? 0) < received.atBackup;
  }
});
