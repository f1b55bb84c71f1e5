import { Inject, Injectable } from '@nestjs/common';
import { CampaignScheduler, DeliveryEngine, MailboxSimulator } from '#messaging';
import { type Config, CONFIG, JobRunner, PeriodicTasks, type QueueBackend, Relay } from '#platform';
import { QUEUE_BACKEND } from './queue.providers.js';

/** All that a worker does, started and stopped together. */
@Injectable()
export class Worker {
  #stopped: Promise<void> | undefined;

  constructor(
    @Inject(Relay) private readonly relay: Relay,
    @Inject(JobRunner) private readonly jobs: JobRunner,
    @Inject(PeriodicTasks) private readonly tasks: PeriodicTasks,
    @Inject(CampaignScheduler) private readonly scheduler: CampaignScheduler,
    @Inject(DeliveryEngine) private readonly engine: DeliveryEngine,
    @Inject(MailboxSimulator) private readonly mailboxes: MailboxSimulator,
    @Inject(QUEUE_BACKEND) private readonly backend: QueueBackend,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  start(): void {
    this.relay.start();
    this.jobs.start();
    this.tasks.start();
    this.scheduler.start();
    this.engine.start();
    this.mailboxes.start();
  }

  /** Takes nothing new; resolves when what is in flight is finished or given back. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await Promise.all([
      this.relay.stop(),
      this.jobs.stop(this.config.SHUTDOWN_TIMEOUT_MS),
      this.tasks.stop(),
      this.scheduler.stop(),
      this.mailboxes.stop(),
      this.engine.stop(this.config.SHUTDOWN_TIMEOUT_MS),
    ]);
    await this.backend.close();
  }
}
