import type { Logger } from 'pino';
import { Counter, Histogram, type Registry } from 'prom-client';
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
} from './jobs.repository.js';
import {
  type JobCatalogue,
  type JobContext,
  type JobHandler,
  type JobResult,
  type QueueName,
  retry,
} from './job.js';
import { traced } from '../tracing.js';
import type { QueueBackend, QueueConsumer } from './queue-backend.js';

const BAD_RESULTS = ['retry', 'failed', 'lost'];
const RESULTS = ['done', 'snooze', 'cancel', ...BAD_RESULTS];

/** Counts ended jobs by result, and measures their duration. */
export class JobMetrics {
  readonly #ended: Counter<'queue' | 'job' | 'result'>;
  readonly #seconds: Histogram<'queue' | 'job'>;

  constructor(registry: Registry) {
    this.#ended = new Counter({
      name: 'mailwright_jobs_total',
      help: 'Jobs that ended, by queue, job and result.',
      labelNames: ['queue', 'job', 'result'],
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'mailwright_job_duration_seconds',
      help: 'Duration of jobs.',
      labelNames: ['queue', 'job'],
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
      registers: [registry],
    });
  }

  /** Tells of a job from 0 on, so that an alert sees the first one that failed as an increase. */
  knows(queue: QueueName, job: string): void {
    for (const result of RESULTS) this.#ended.inc({ queue, job, result }, 0);
  }

  ended(queue: QueueName, job: string, result: string, seconds: number): void {
    this.#ended.inc({ queue, job, result });
    this.#seconds.observe({ queue, job }, seconds);
  }
}

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

/** Takes wake-ups from the queues, leases the rows of their jobs and runs the handlers. */
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
    for (const { queue, jobName } of this.catalogue.kinds) this.metrics.knows(queue, jobName);
    for (const name of this.catalogue.queues) {
      this.#consumers.push(
        this.backend.consumer(name, CONCURRENCY[name], ({ jobId }) => this.process(jobId)),
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

  /** Runs one job, if it is due and nobody has it. Never rejects for a job that failed. */
  async process(jobId: number): Promise<void> {
    const leased = await leaseJob(this.database, jobId, newId());
    if (leased === null) return;
    const handler = this.catalogue.named(leased.jobName);
    if (handler === undefined) {
      // A newer version's job that this worker does not know yet: left for one that does.
      await this.#finish(leased, retry('This worker does not know the job.'));
      return;
    }
    const started = performance.now();
    const outcome = await this.#trace(handler, leased);
    const { queue, jobName } = handler.note;
    this.metrics.ended(queue, jobName, outcome, (performance.now() - started) / 1_000);
  }

  #trace(handler: JobHandler, leased: LeasedJob): Promise<string> {
    const { queue, jobName } = handler.note;
    const { traceparent: parent, failures, scope } = leased;
    const attributes = {
      'mailwright.job': jobName,
      'mailwright.queue': queue,
      'mailwright.attempt': failures + 1,
      'mailwright.environment_id': scope.environmentId,
    };
    return traced({ name: `job ${jobName}`, kind: 'consumer', parent, attributes }, async (span) => {
      const outcome = await this.#attempt(handler, leased);
      span?.set({ 'mailwright.result': outcome });
      if (BAD_RESULTS.includes(outcome)) span?.fail(outcome);
      return outcome;
    });
  }

  async #attempt(handler: JobHandler, leased: LeasedJob): Promise<string> {
    const abort = new AbortController();
    const context: JobContext = { failures: leased.failures, signal: abort.signal };
    this.#active.set(leased.token, { job: leased, abort });
    const renewal = setInterval(() => void this.#renew(leased, abort), RENEW_MS);
    try {
      const run = () => handler.run(leased.scope, leased.payload, context);
      const result = await (handler.note.isResumable
        ? this.#runResumable(run, leased)
        : this.#runInTransaction(run, leased));
      return result.kind;
    } catch (error) {
      return await this.#failed(leased, error);
    } finally {
      clearInterval(renewal);
      this.#active.delete(leased.token);
    }
  }

  async #runResumable(run: () => Promise<JobResult>, leased: LeasedJob): Promise<JobResult> {
    const result = await run();
    await this.#finish(leased, result);
    return result;
  }

  #runInTransaction(run: () => Promise<JobResult>, leased: LeasedJob): Promise<JobResult> {
    return this.database.transaction(leased.scope, async () => {
      const result = await run();
      await this.database.em.flush();
      await finishJob(this.database, leased, result);
      return result;
    });
  }

  async #failed(leased: LeasedJob, error: unknown): Promise<string> {
    if (error instanceof LeaseLostError) return 'lost';
    const reason = describeError(error);
    logFailure(this.logger, error, 'job failed', { job: leased.jobName, failures: leased.failures + 1 });
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
