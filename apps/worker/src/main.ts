import pg from 'pg';
import { type Config, ConfigurationError, loadConfig, pendingMigrations, watchParent } from '#platform';
import { type RunningWorker, startWorker } from './start-worker.js';

/** What did not end by itself is cut off this long after the time for it was over. */
const EXIT_AFTER_MS = 1_500;

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  await refusePendingMigrations(config);
  const worker = await startWorker(config);
  stopOnSignals(config, worker);
  if (process.send === undefined) process.stdout.write(`worker running, health at http://${config.HOST}:${worker.port}/health/ready\n`);
  else process.send({ type: 'listening', port: worker.port });
}

async function refusePendingMigrations({ DATABASE_URL }: Config): Promise<void> {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 1 });
  try {
    const pending = await pendingMigrations(pool);
    if (pending.length > 0) throw new ConfigurationError([`The database lacks ${pending.join(', ')}: run \`npm run migrate\``]);
  } finally {
    await pool.end();
  }
}

function stopOnSignals({ SHUTDOWN_TIMEOUT_MS }: Config, worker: RunningWorker): void {
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(0), SHUTDOWN_TIMEOUT_MS + EXIT_AFTER_MS).unref();
    worker.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  watchParent(stop);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof ConfigurationError ? error.message : String(error)}\n`);
  process.exit(1);
});
