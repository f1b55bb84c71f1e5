import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG, listenFailure, type OperationsServer, type QueueBackend } from '#platform';

/** Injects the `QueueBackend` of this process. */
export const QUEUE_BACKEND = Symbol('mailwright.queue-backend');

/** Injects the parts that run as long as the worker. */
export const WORKER_PARTS = Symbol('mailwright.worker-parts');

/** A part that runs as long as the worker: the sending engine, a scheduler, a server. */
export interface WorkerPart {
  /** Resolves when it is running. */
  start(): void | Promise<void>;
  /** Accepts no new work; resolves when work in flight is finished, or released after `timeoutMs`. */
  stop(timeoutMs: number): Promise<void>;
}

/** The worker cannot start as configured; the message tells the operator why. */
export class WorkerStartError extends Error {}

/** Listens for health and metrics on `WORKER_PORT`. Throws `WorkerStartError` where the operator has to choose another. */
export async function listen(server: OperationsServer, { HOST, WORKER_PORT }: Config): Promise<number> {
  try {
    return await server.listen(WORKER_PORT, HOST);
  } catch (error) {
    const refused = listenFailure(error, HOST, { WORKER_PORT });
    throw refused === null ? error : new WorkerStartError(refused, { cause: error });
  }
}

/** The parts of a worker, started and stopped together. */
@Injectable()
export class Worker {
  #stopped: Promise<void> | undefined;

  constructor(
    @Inject(WORKER_PARTS) private readonly parts: readonly WorkerPart[],
    @Inject(QUEUE_BACKEND) private readonly backend: QueueBackend,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async start(): Promise<void> {
    for (const part of this.parts) await part.start();
  }

  /** Accepts no new work; resolves when work in flight is finished or released. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.stop(this.config.SHUTDOWN_TIMEOUT_MS)));
    await this.backend.close();
  }
}
