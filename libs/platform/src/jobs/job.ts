import type { ProjectScope } from '#kernel';
import { DecoratedMethods, repeatedIn } from '../decorated-methods.js';

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

/** Name of a kind of jobs, `campaigns.expand`, and the queue that takes them to a worker. */
interface JobKind {
  readonly jobName: string;
  readonly queue: QueueName;
}

/** Something for a worker to do, for `enqueue`. */
export interface NewJob {
  readonly kind: JobKind;
  readonly payload: object;
  /** Not before; at once without it. */
  readonly runAt?: Date | undefined;
}

/** A kind of jobs and the one way to make them, so that those who enqueue and the handler agree on the payload. */
export interface JobType<Payload extends object> extends JobKind {
  (payload: Payload, runAt?: Date): NewJob;
}

const declared: JobKind[] = [];

/**
 * Declares a kind of jobs: `const expandCampaign = jobType<{ campaignId: string }>('campaigns.expand', 'campaigns')`. The payload
 * holds ids, never an address, content or a secret.
 */
export function jobType<Payload extends object>(jobName: string, queue: QueueName): JobType<Payload> {
  const kind: JobKind = { jobName, queue };
  declared.push(kind);
  return Object.assign((payload: Payload, runAt?: Date) => ({ kind, payload, runAt }), kind);
}

/** The end of a job. A thrown error is a retry with back-off. */
export type JobResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'snooze'; readonly until: Date }
  | { readonly kind: 'cancel'; readonly reason: string };

export const done: JobResult = { kind: 'done' };
export const retry = (reason: string): JobResult => ({ kind: 'retry', reason });
/** Result of work that ends early when `signal` is aborted. */
export const doneUnlessAborted = (signal: AbortSignal): JobResult =>
  signal.aborted ? retry('The worker stopped.') : done;
export const snooze = (until: Date): JobResult => ({ kind: 'snooze', until });
export const cancel = (reason: string): JobResult => ({ kind: 'cancel', reason });

/** Facts about the run that a handler is part of. */
export interface JobContext {
  /** Tries that ended badly before this one; 0 for the first. */
  readonly failures: number;
  /** Aborted when the worker stops or its lease on this job is lost. */
  readonly signal: AbortSignal;
}

type JobMethod<Payload extends object> = (
  scope: ProjectScope,
  payload: Payload,
  context: JobContext,
) => Promise<JobResult>;

/** The one handler of a kind of jobs. */
export interface JobHandler {
  readonly note: JobKind & { readonly isResumable: boolean };
  /** Its payload has the type that the decorator enforced. */
  run(scope: ProjectScope, payload: object, context: JobContext): Promise<JobResult>;
}

const handlers = new DecoratedMethods<JobHandler['note'], JobMethod<never>>();

/**
 * Makes a method the handler of a kind of short jobs. Its effects and the mark that the job is done commit in the one
 * transaction that is open while it runs, so however often the queue delivers it, it happens once.
 */
export const Job = <Payload extends object>({ jobName, queue }: JobType<Payload>) =>
  handlers.mark<JobMethod<Payload>>({ jobName, queue, isResumable: false });

/**
 * Makes a method the handler of a kind of long jobs, which commits as it goes and must pick up where a killed one stopped. It
 * holds a lease that the runner renews; it is started again when the lease runs out.
 */
export const ResumableJob = <Payload extends object>({ jobName, queue }: JobType<Payload>) =>
  handlers.mark<JobMethod<Payload>>({ jobName, queue, isResumable: true });

/** The handlers of all jobs. Refuses two handlers or types of one name, and a type that none handles. */
export class JobCatalogue {
  #byName: ReadonlyMap<string, JobHandler> | undefined;

  /** The `instances` are asked for their methods when a handler is first needed: then the program has made them all. */
  constructor(
    private readonly instances: () => Iterable<unknown>,
    private readonly types: readonly JobKind[] = declared,
  ) {}

  named(name: string): JobHandler | undefined {
    return this.#handlers.get(name);
  }

  get kinds(): JobKind[] {
    return [...this.#handlers.values()].map(({ note }) => note);
  }

  get queues(): QueueName[] {
    return QUEUES.filter((name) => this.kinds.some(({ queue }) => queue === name));
  }

  get #handlers(): ReadonlyMap<string, JobHandler> {
    this.#byName ??= this.#check(handlers.find(this.instances()));
    return this.#byName;
  }

  #check(found: readonly JobHandler[]): ReadonlyMap<string, JobHandler> {
    const handled = found.map(({ note }) => note.jobName);
    const types = this.types.map(({ jobName }) => jobName);
    const [handledTwice, declaredTwice] = [repeatedIn(handled), repeatedIn(types)];
    if (handledTwice !== undefined) throw new Error(`Two methods handle the job ${handledTwice}.`);
    if (declaredTwice !== undefined) throw new Error(`Two kinds of jobs are called ${declaredTwice}.`);
    const left = types.filter((name) => !handled.includes(name));
    if (left.length > 0) throw new Error(`No method handles ${left.join(', ')}.`);
    return new Map(found.map((handler) => [handler.note.jobName, handler]));
  }
}
