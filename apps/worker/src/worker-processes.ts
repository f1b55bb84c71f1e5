import cluster from 'node:cluster';
import { isIPv6 } from 'node:net';
import { AggregatorRegistry } from 'prom-client';
import { type Config, HealthChecks, Operations, OperationsServer } from '#platform';
import { type ChildRun, runOf, Supervisor } from '#platform/supervisor';
import type { RunningWorker } from './start-worker.js';
import { listen, WorkerStartError } from './worker.js';

/** Extra time for a process that stops by itself, before it is killed. */
const KILLED_AFTER_MS = 1_000;

/**
 * Starts `WORKER_PROCESSES` workers, each a process of its own, and answers for all of them on `WORKER_PORT`: ready when each
 * is, and metrics added up. One that ends is started again. They share the port of the bounce server.
 */
export async function startWorkerProcesses(
  config: Config,
  tell: (line: string) => void,
): Promise<RunningWorker> {
  const processes = Array.from(
    { length: config.WORKER_PROCESSES },
    (_, place) => new Process(place + 1, tell),
  );
  const health = new HealthChecks(
    processes.map((one) => ({ name: one.name, check: () => one.check(config.HOST) })),
  );
  const server = new OperationsServer(new Operations(health, new MetricsOfAll()));
  const stop = async () => {
    await Promise.all(processes.map((one) => one.stop(config.SHUTDOWN_TIMEOUT_MS + KILLED_AFTER_MS)));
    await server.close();
  };
  try {
    const port = await listen(server, config);
    const [bouncePort = null] = await Promise.all(processes.map((one) => one.start()));
    return { port, bouncePort, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** One worker, kept running. */
class Process {
  readonly name: string;
  readonly #supervisor: Supervisor;
  #run: ChildRun | undefined;

  constructor(place: number, tell: (line: string) => void) {
    this.name = `worker-${place}`;
    this.#supervisor = new Supervisor(this.name, () => this.#begin(), tell);
  }

  /** The port of the bounce server, if any. */
  async start(): Promise<number | null> {
    await this.#supervisor.start();
    return (await this.#run?.ready)?.bouncePort ?? null;
  }

  stop(patienceMs: number): Promise<void> {
    return this.#supervisor.stop(patienceMs);
  }

  /** Rejects unless it is ready. */
  async check(host: string): Promise<void> {
    const port = (await this.#run?.ready)?.port;
    const { ok } = await fetch(`http://${isIPv6(host) ? `[${host}]` : host}:${port}/health/ready`);
    if (!ok) throw new Error(`${this.name} is not ready.`);
  }

  #begin(): ChildRun {
    const child = cluster.fork({ WORKER_PORT: '0' }).process;
    this.#run = runOf(
      child,
      (how) => new WorkerStartError(`${this.name} ended before it was ready (${how}). See its output above.`),
    );
    return this.#run;
  }
}

/** Metrics of all processes, added up. */
class MetricsOfAll extends AggregatorRegistry<'text/plain; version=0.0.4; charset=utf-8'> {
  override metrics(): Promise<string> {
    return this.clusterMetrics();
  }
}
