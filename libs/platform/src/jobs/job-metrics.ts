import { Counter, Histogram, type Registry } from 'prom-client';
import type { QueueName } from './job.js';

const RESULTS = ['done', 'retry', 'snooze', 'cancel', 'failed', 'lost'];

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
