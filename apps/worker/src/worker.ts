import { Inject, Injectable } from '@nestjs/common';
import { type Config, CONFIG, type QueueBackend } from '#platform';
import type { WorkerPart } from './context-work.js';
import { QUEUE_BACKEND, WORKER_PARTS } from './queue.providers.js';

/** All that a worker does, started and stopped together. */
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

  /** Takes nothing new; resolves when what is in flight is finished or given back. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await Promise.all(this.parts.map((part) => part.stop(this.config.SHUTDOWN_TIMEOUT_MS)));
    await this.backend.close();
  }
}
