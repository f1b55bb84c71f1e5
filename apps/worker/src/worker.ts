import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG, type QueueBackend } from '#platform';
import type { WorkerPart } from './context-work.js';
import { QUEUE_BACKEND, WORKER_PARTS } from './queue.providers.js';

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
