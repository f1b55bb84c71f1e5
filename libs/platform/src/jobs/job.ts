import type { DomainEvent, EventType, ProjectScope } from '#kernel';

/** Kinds of work that must not starve each other. */
export const QUEUES = [
  'mail',
  'campaigns',
  'dns',
  'bounces',
  'exports',
  'imports',
  'erasures',
  'automations',
  'webhooks',
  'billing',
  'reports',
  'segments',
] as const;
export type QueueName = (typeof QUEUES)[number];

/** How a job ended. A thrown error is a retry with back-off. */
export type JobResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'snooze'; readonly until: Date }
  | { readonly kind: 'cancel'; readonly reason: string };

export const done: JobResult = { kind: 'done' };
export const retry = (reason: string): JobResult => ({ kind: 'retry', reason });
/** Of work that ends early when `signal` is aborted. */
export const doneUnlessAborted = (signal: AbortSignal): JobResult =>
  signal.aborted ? retry('The worker stopped.') : done;
export const snooze = (until: Date): JobResult => ({ kind: 'snooze', until });
export const cancel = (reason: string): JobResult => ({ kind: 'cancel', reason });

/** What a handler knows of the run that it is part of. */
export interface JobContext {
  /** Stable across repeats of the same event: the key for effects that must happen once. */
  readonly eventId: string;
  /** Tries that ended badly before this one; 0 for the first. */
  readonly failures: number;
  /** Aborted when the worker stops or its lease on this job is lost. */
  readonly signal: AbortSignal;
}

interface Handler<Payload extends object> {
  /** Names the effect, and with the event's id makes it happen once: `expand-campaign`. */
  readonly name: string;
  readonly queue: QueueName;
  /** The event that starts it. */
  readonly on: Pick<EventType<Payload>, 'eventName'>;
}

/**
 * A short job. Its effects and the mark that it is done commit in the one transaction that is open while it runs,
 * so however often the queue delivers it, it happens once.
 */
export abstract class TransactionalJob<Payload extends object = object> implements Handler<Payload> {
  abstract readonly name: string;
  abstract readonly queue: QueueName;
  abstract readonly on: Pick<EventType<Payload>, 'eventName'>;
  abstract handle(scope: ProjectScope, payload: Payload, context: JobContext): Promise<JobResult>;
}

/**
 * A long job, which commits as it goes and must pick up where a killed one stopped. It holds a lease
 * that the runner renews; it is started again when the lease runs out.
 */
export abstract class ResumableJob<Payload extends object = object> implements Handler<Payload> {
  abstract readonly name: string;
  abstract readonly queue: QueueName;
  abstract readonly on: Pick<EventType<Payload>, 'eventName'>;
  abstract run(scope: ProjectScope, payload: Payload, context: JobContext): Promise<JobResult>;
}

export type Job = TransactionalJob | ResumableJob;

/** Which jobs each event starts. Refuses two jobs of one name, and events that nobody handles. */
export class JobCatalogue {
  readonly #byName = new Map<string, Job>();
  readonly #byEvent = new Map<string, Job[]>();

  constructor(jobs: readonly Job[], emitted: readonly { readonly eventName: string }[]) {
    for (const job of jobs) {
      if (this.#byName.has(job.name)) throw new Error(`Two jobs are called ${job.name}.`);
      this.#byName.set(job.name, job);
      this.#byEvent.set(job.on.eventName, [...(this.#byEvent.get(job.on.eventName) ?? []), job]);
    }
    const unhandled = emitted.filter(({ eventName }) => !this.#byEvent.has(eventName));
    if (unhandled.length > 0) {
      throw new Error(`No job handles ${unhandled.map(({ eventName }) => eventName).join(', ')}.`);
    }
  }

  named(name: string): Job | undefined {
    return this.#byName.get(name);
  }

  startedBy(eventName: DomainEvent['name']): readonly Job[] {
    return this.#byEvent.get(eventName) ?? [];
  }

  get jobs(): readonly Job[] {
    return [...this.#byName.values()];
  }

  get queues(): QueueName[] {
    return QUEUES.filter((queue) => this.jobs.some((job) => job.queue === queue));
  }
}
