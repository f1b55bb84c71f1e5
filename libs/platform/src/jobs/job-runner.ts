import type { Logger } from 'pino';
import { newId, withTimeout } from '#kernel';
import type { Database } from '../database/database.js';
import { logFailure } from '../lifecycle/outage.js';
import { describeError } from '../logger.js';
import {
  failJob,
  finishJob,
  handBack,
  type LeasedJob,
  leaseJob,
  LeaseLostError,
  renewLease,
} from './inbox.query.js';
import type { JobMetrics } from './job-metrics.js';
import {
  type Job,
  type JobCatalogue,
  type JobContext,
  type JobResult,
  type QueueName,
  ResumableJob,
  retry,
} from './job.js';
import type { QueueBackend, QueueConsumer } from './queue-backend.js';

const RENEW_MS = 10_000;
const GIVE_UP_AFTER = 25;
const CONCURRENCY: Record<QueueName, number> = {
  mail: 10,
  campaigns: 2,
  dns: 4,
  bounces: 4,
  exports: 2,
  imports: 1,
  erasures: 2,
  automations: 4,
  webhooks: 10,
  billing: 2,
  reports: 2,
  segments: 3,
};

/** Takes wake-ups from the queues, leases their inbox rows and runs the jobs. */
export class JobRunner {
  readonly #consumers: QueueConsumer[] = [];
  readonly #active = new Map<string, { job: LeasedJob; abort: AbortController }>();

  constructor(
    private readonly database: Database,
    private readonly backend: QueueBackend,
    private readonly catalogue: JobCatalogue,
    private readonly logger: Logger,
    private readonly metrics: JobMetrics,
  ) {}

  start(): void {
    for (const { queue, name } of this.catalogue.jobs) this.metrics.knows(queue, name);
    for (const name of this.catalogue.queues) {
      this.#consumers.push(
        this.backend.consumer(name, CONCURRENCY[name], ({ inboxId }) => this.process(inboxId)),
      );
    }
  }

  /** Takes nothing more, gives running jobs `timeoutMs` to end, then hands their leases back. */
  async stop(timeoutMs: number): Promise<void> {
    for (const { abort } of this.#active.values()) abort.abort();
    const closed = Promise.all(this.#consumers.map((consumer) => consumer.close(false)));
    await withTimeout(closed, timeoutMs, () => undefined);
    const left = [...this.#active.values()].map(({ job }) => job);
    await Promise.all(left.map((job) => handBack(this.database, job)));
    await Promise.all(this.#consumers.map((consumer) => consumer.close(true)));
  }

  /** Runs one inbox row, if it is due and nobody has it. Never rejects for a job that failed. */
  async process(inboxId: number): Promise<void> {
    const leased = await leaseJob(this.database, inboxId, newId());
    if (leased === null) return;
    const job = this.catalogue.named(leased.handler);
    if (job === undefined) {
      // A newer version's job that this worker does not know yet: left for one that does.
      await this.#finish(leased, retry('This worker does not know the job.'));
      return;
    }
    const started = performance.now();
    const outcome = await this.#attempt(job, leased);
    this.metrics.ended(job.queue, job.name, outcome, (performance.now() - started) / 1_000);
  }

  async #attempt(job: Job, leased: LeasedJob): Promise<string> {
    const abort = new AbortController();
    const context: JobContext = { eventId: leased.eventId, failures: leased.failures, signal: abort.signal };
    this.#active.set(leased.token, { job: leased, abort });
    const renewal = setInterval(() => void this.#renew(leased, abort), RENEW_MS);
    try {
      const result =
        job instanceof ResumableJob
          ? await this.#runResumable(job, leased, context)
          : await this.database.transaction(leased.scope, async () => {
              const ended = await job.handle(leased.scope, leased.payload, context);
              await this.database.em.flush();
              await finishJob(this.database, leased, ended);
              return ended;
            });
      return result.kind;
    } catch (error) {
      return await this.#failed(job, leased, error);
    } finally {
      clearInterval(renewal);
      this.#active.delete(leased.token);
    }
  }

  async #runResumable(job: ResumableJob, leased: LeasedJob, context: JobContext): Promise<JobResult> {
    const result = await job.run(leased.scope, leased.payload, context);
    await this.#finish(leased, result);
    return result;
  }

  async #failed(job: Job, leased: LeasedJob, error: unknown): Promise<string> {
    if (error instanceof LeaseLostError) return 'lost';
    const reason = describeError(error);
    logFailure(this.logger, error, 'job failed', { job: job.name, failures: leased.failures + 1 });
    if (leased.failures + 1 >= GIVE_UP_AFTER) {
      await failJob(this.database, leased, reason);
      return 'failed';
    }
    await this.#finish(leased, retry(reason)).catch(() => undefined);
    return 'retry';
  }

  #finish(leased: LeasedJob, result: JobResult): Promise<void> {
    return this.database.system(() => finishJob(this.database, leased, result));
  }

  async #renew(leased: LeasedJob, abort: AbortController): Promise<void> {
    const held = await renewLease(this.database, leased).catch(() => true);
    if (!held) abort.abort();
  }
}
