import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Config,
  CONFIG,
  describeError,
  endProcess,
  loadConfig,
  openProgramLog,
  settleMemory,
  watchParent,
} from '#platform';
import { Draining } from '#platform/http';
import { type RunningApi, startApi, startFailure } from './start-api.js';

/** The time for closing connections after the last request, before the process exits regardless. */
const CLOSING_MS = 2_000;

const log = openProgramLog('api', process.env);
let isStopping = false;
watchParent(() => process.kill(process.pid, 'SIGTERM'));
try {
  const api = await startApi(loadConfig(process.env));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(api));
  settleMemory();
  if (process.send === undefined) log.says(`api listening on ${api.url}`);
  else process.send({ type: 'listening', port: api.port });
} catch (error) {
  log.fails(startFailure(error));
}

async function stop({ app }: RunningApi): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const { SHUTDOWN_DELAY_MS, SHUTDOWN_TIMEOUT_MS } = app.get<Config>(CONFIG);
  app.get(Draining).begin();
  await delay(SHUTDOWN_DELAY_MS);
  // Closing includes the database connection: a query that hangs must not keep the process alive.
  setTimeout(() => endProcess(1), SHUTDOWN_TIMEOUT_MS + CLOSING_MS).unref();
  await app.close().catch((error: unknown) => log.fails(describeError(error)));
  endProcess(0);
}
