import type { Type } from '@nestjs/common';
import type { JobCatalogue, PeriodicTask } from '#platform';

type Job = ConstructorParameters<typeof JobCatalogue>[0][number];
type EventType = ConstructorParameters<typeof JobCatalogue>[1][number];

/** Something that runs as long as the worker does: the sending engine, a scheduler, a server. */
export interface WorkerPart {
  /** Resolves when it is at work. */
  start(): void | Promise<void>;
  /** Takes nothing new; resolves when what is in flight is finished, or given back after `timeoutMs`. */
  stop(timeoutMs: number): Promise<void>;
}

/** What one context gives the worker to do. A job that is not listed is not run, and boot fails for an event without a job. */
export interface ContextWork {
  readonly jobs: readonly Type<Job>[];
  /** The events that start jobs. */
  readonly events: readonly EventType[];
  readonly tasks: readonly Type<PeriodicTask>[];
  readonly parts: readonly Type<WorkerPart>[];
}
