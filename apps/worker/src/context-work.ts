import type { Type } from '@nestjs/common';
import type { JobCatalogue, PeriodicTask } from '#platform';

type Job = ConstructorParameters<typeof JobCatalogue>[0][number];
type EventType = ConstructorParameters<typeof JobCatalogue>[1][number];

/** A part that runs as long as the worker: the sending engine, a scheduler, a server. */
export interface WorkerPart {
  /** Resolves when it is running. */
  start(): void | Promise<void>;
  /** Accepts no new work; resolves when work in flight is finished, or released after `timeoutMs`. */
  stop(timeoutMs: number): Promise<void>;
}

/** The work of one context. The worker does not run unlisted jobs, and refuses to start for an event without a job. */
export interface ContextWork {
  readonly jobs: readonly Type<Job>[];
  /** The events that start jobs. */
  readonly events: readonly EventType[];
  readonly tasks: readonly Type<PeriodicTask>[];
  readonly parts: readonly Type<WorkerPart>[];
}
