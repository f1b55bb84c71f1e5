import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { type Config, CONFIG, describeError, loadConfig, settleMemory, watchParent } from '#platform';
import { Draining } from '#platform/http';
import { type RunningApi, startApi, startFailure } from './start-api.js';

/** What may still be closed after the last request, before the process ends regardless. */
const CLOSING_MS = 2_000;

let isStopping = false;
watchParent(() => process.kill(process.pid, 'SIGTERM'));
try {
  const api = await startApi(loadConfig(process.env));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(api));
  settleMemory();
  if (process.send === undefined) process.stdout.write(`api listening on ${api.url}\n`);
  else process.send({ type: 'listening', port: api.port });
} catch (error) {
  process.stderr.write(`${startFailure(error)}\n`);
  process.exit(1);
}

async function stop({ app }: RunningApi): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const { SHUTDOWN_DELAY_MS, SHUTDOWN_TIMEOUT_MS } = app.get<Config>(CONFIG);
  app.get(Draining).begin();
  await delay(SHUTDOWN_DELAY_MS);
  // A query that hangs must not keep the process alive: the database connection is among what is closed.
  setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS + CLOSING_MS).unref();
  await app.close().catch((error: unknown) => {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  });
  process.exit(0);
}
