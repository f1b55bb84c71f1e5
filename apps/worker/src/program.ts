import cluster from 'node:cluster';
import {
  type Config,
  ConfigurationError,
  databaseFailure,
  describeError,
  endProcess,
  loadConfig,
  openProgramLog,
  settleMemory,
  UnfitDatabaseError,
  watchParent,
} from '#platform';
import type { RunningWorker } from './start-worker.js';
import { WorkerStartError } from './worker.js';

/** The extra time after the shutdown timeout before the process exits regardless. */
const EXIT_AFTER_MS = 1_500;

const log = openProgramLog('worker', process.env);

async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const worker = await start(config);
  stopOnSignals(config, worker);
  settleMemory();
  if (process.send === undefined)
    log.says(`worker running, health at http://${config.HOST}:${worker.port}/health/ready`);
  else process.send({ type: 'listening', port: worker.port, bouncePort: worker.bouncePort });
}

async function start(config: Config): Promise<RunningWorker> {
  if (cluster.isPrimary && config.WORKER_PROCESSES > 1) {
    const { startWorkerProcesses } = await import('./worker-processes.js');
    return startWorkerProcesses(config, log.says);
  }
  const { startWorker } = await import('./start-worker.js');
  return startWorker(config);
}

function stopOnSignals({ SHUTDOWN_TIMEOUT_MS }: Config, worker: RunningWorker): void {
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => endProcess(0), SHUTDOWN_TIMEOUT_MS + EXIT_AFTER_MS).unref();
    worker.stop().then(
      () => endProcess(0),
      () => endProcess(1),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  watchParent(stop);
}

main().catch((error: unknown) => {
  const isPlain =
    error instanceof ConfigurationError ||
    error instanceof UnfitDatabaseError ||
    error instanceof WorkerStartError;
  const reason = isPlain ? '' : (databaseFailure(error)?.message ?? describeError(error));
  log.fails(isPlain ? error.message : `The worker could not start: ${reason}`);
});
