import 'reflect-metadata';
import { type Config, CONFIG, loadConfig, watchParent } from '#platform';
import { startApi, startFailure } from './start-api.js';

/** What may still be closed after the last request, before the process ends regardless. */
const CLOSING_MS = 2_000;

watchParent(() => process.kill(process.pid, 'SIGTERM'));
try {
  const { app, url, port } = await startApi(loadConfig(process.env));
  app.enableShutdownHooks([], { useProcessExit: true });
  endInAnyCase(app.get<Config>(CONFIG).SHUTDOWN_TIMEOUT_MS + CLOSING_MS);
  process.stdout.write(`api listening on ${url}\n`);
  process.send?.({ type: 'listening', port });
} catch (error) {
  process.stderr.write(`${startFailure(error)}\n`);
  process.exit(1);
}

/** A query that hangs must not keep the process alive: the database connection is among what is closed. */
function endInAnyCase(patienceMs: number): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => setTimeout(() => process.exit(1), patienceMs).unref());
  }
}
