import type { Logger } from 'pino';
import type { Database } from '../database/database.js';
import { Loop } from '../lifecycle/loop.js';
import { logFailure } from '../lifecycle/outage.js';
import type { Notifications } from '../notifications.js';
import { drain } from './drain.js';
import type { JobCatalogue, QueueName } from './job.js';
import { areJobsDue, type DueJob, JOBS_CHANNEL, offerDueJobs } from './jobs.repository.js';
import type { QueueBackend, WorkQueue } from './queue-backend.js';

const BATCH = 500;
const POLL_MS = 1_000;

/**
 * Hands the jobs that are due to the queue. All workers run one; SKIP LOCKED keeps them apart. A wake-up makes it quick, polling
 * makes it sure: an emptied Redis is filled again from the table.
 */
export class JobDispatcher {
  readonly #queues = new Map<QueueName, WorkQueue>();
  readonly #loop: Loop;

  constructor(
    private readonly database: Database,
    notifications: Notifications,
    private readonly backend: QueueBackend,
    private readonly catalogue: JobCatalogue,
    private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => logFailure(this.logger, error, 'jobs cannot be handed to the queue'),
      [(wake) => notifications.listen(JOBS_CHANNEL, wake)],
    );
  }

  start(): void {
    for (const name of this.catalogue.queues) this.#queues.set(name, this.backend.queue(name));
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }

  /** Hands over what is due. */
  async pass(): Promise<void> {
    if (await areJobsDue(this.database)) await drain(BATCH, () => this.#offer());
  }

  async #offer(): Promise<number> {
    const due = await offerDueJobs(this.database, BATCH);
    for (const [name, queue] of this.#queues) {
      const jobs = due.filter((job) => job.queue === name);
      if (jobs.length > 0) await queue.add(jobs.map(toQueued));
    }
    return due.length;
  }
}

function toQueued({ id, name, attempts }: DueJob) {
  // The number of tries is part of the id, so that a try that died can be queued anew.
  return { id: `${id}-${attempts}`, name, data: { v: 2 as const, jobId: id } };
}
