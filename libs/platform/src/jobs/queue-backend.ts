import { createRedisBackend, type Processor, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { isUnavailability, Outage, type OutageListener } from '../lifecycle/outage.js';
import { FOLLOWS_FAILOVER, isReply, probeRedis, redisFailure } from '../lifecycle/redis-failure.js';
import { postgresBackends } from './postgres-queue-connection.js';

/** All that a queued job holds: the id of its row. Under `v: 1`, which older versions wrote, there is none: it is offered again. */
export interface QueuedJob {
  readonly v: 2;
  readonly jobId: number;
}

export interface WorkQueue {
  /** Enqueues wake-ups; `id` must be new for each enqueuing, since BullMQ ignores an id that it knows. */
  add(
    jobs: readonly { readonly id: string; readonly name: string; readonly data: QueuedJob }[],
  ): Promise<void>;
  close(): Promise<void>;
}

export interface QueueConsumer {
  /** Stops taking jobs and waits for those under way; `force` leaves them. */
  close(force: boolean): Promise<void>;
}

/** Makes queues and consumers on one of the two backends. */
export interface QueueBackend {
  readonly kind: 'postgres' | 'redis';
  queue(name: string): WorkQueue;
  consumer(name: string, concurrency: number, process: (job: QueuedJob) => Promise<void>): QueueConsumer;
  ping(): Promise<void>;
  /** Why `ping` was rejected, in words for the operator. */
  reasonOf(error: unknown): string;
  close(): Promise<void>;
}

export interface QueueBackendOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  /** The database's, told when a queue there does not answer. It recovers by itself. */
  readonly databaseOutage: Outage;
  /** Told when Redis cannot be used, and when it can again. */
  readonly redisOutage: OutageListener;
  /** Told of other faults. */
  readonly onError: (error: Error) => void;
}

// The truth is in the table, so nothing is kept of a job that ran, well or not.
const KEEP_NOTHING = { removeOnComplete: true, removeOnFail: true } as const;
const STALLED_CHECK_MS = 15_000;
/** A job is told of by NOTIFY; how often each queue is looked at besides, should a message be lost. */
const LOOK_EVERY_S = 60;

export function createQueueBackend(options: QueueBackendOptions): QueueBackend {
  return options.redisUrl === undefined ? postgresBackend(options) : redisBackend(options, options.redisUrl);
}

function postgresBackend({ databaseUrl, databaseOutage, ...told }: QueueBackendOptions): QueueBackend {
  const backends = postgresBackends(databaseUrl, databaseOutage);
  // The backend asks with a pool of its own.
  const connection = { connectionString: databaseUrl };
  const onError = otherFaults(databaseOutage, told.onError);
  return {
    kind: 'postgres',
    queue: (name) => {
      const queue = new Queue(name, { connection, ...quiet }, backends);
      return wrapQueue({ addBulk: addingFew(queue), queue, outage: databaseOutage, onError });
    },
    consumer: (name, concurrency, process) =>
      wrapWorker(
        new Worker(
          name,
          processorOf(process),
          { connection, concurrency, drainDelay: LOOK_EVERY_S, ...workerDefaults },
          backends,
        ),
        onError,
      ),
    // The database is a check of its own.
    ping: () => Promise.resolve(),
    reasonOf: String,
    close: () => Promise.resolve(),
  };
}

function redisBackend(told: QueueBackendOptions, redisUrl: string): QueueBackend {
  const outage = new Outage(() => probeRedis(shared, 'queue'));
  outage.tell(told.redisOutage);
  const onError = otherFaults(outage, told.onError);
  const connect = (): Redis => {
    const redis = new Redis(redisUrl, {
      ...FOLLOWS_FAILOVER,
      maxRetriesPerRequest: null,
      enableReadyCheck: true,
    });
    return redis.on('error', (error) => outage.noticed(error));
  };
  const shared = connect();
  return {
    kind: 'redis',
    queue: (name) => {
      const queue = new Queue(name, { connection: shared, ...quiet }, createRedisBackend);
      return wrapQueue({ addBulk: (jobs) => queue.addBulk(jobs), queue, outage, onError });
    },
    consumer: (name, concurrency, process) => {
      const own = connect();
      const worker = new Worker(
        name,
        processorOf(process),
        { connection: own, concurrency, ...workerDefaults },
        createRedisBackend,
      );
      const consumer = wrapWorker(worker, onError);
      return {
        close: async (force) => {
          await consumer.close(force);
          disconnect(own);
        },
      };
    },
    ping: () => probeRedis(shared, 'queue'),
    reasonOf: redisFailure,
    close: () => {
      outage.close();
      disconnect(shared);
      return Promise.resolve();
    },
  };
}

/** A job that was taken and is not in the queue any more, since the queue was emptied: the table has it. */
const FORGOTTEN = /^Missing (key|lock) for job/;

/** BullMQ tells of a lost connection as well, which the outage has been told of; what Redis answers it alone hears. */
function otherFaults(outage: Outage, onError: (error: Error) => void): (error: Error) => void {
  return (error) => {
    if (isReply(error)) outage.noticed(error);
    else if (!isUnavailability(error) && !FORGOTTEN.test(error.message)) onError(error);
  };
}

/** Does nothing to a connection that has ended: ioredis would wait two seconds for it to end again. */
function disconnect(redis: Redis): void {
  if (redis.status !== 'end') redis.disconnect();
}

const quiet = { skipVersionCheck: true, prefix: 'mailwright' } as const;
const workerDefaults = {
  ...quiet,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
  stalledInterval: STALLED_CHECK_MS,
} as const;

function processorOf(process: (job: QueuedJob) => Promise<void>): Processor<QueuedJob> {
  return (job) => process(job.data);
}

interface Faulty {
  on(event: 'error', listener: (error: Error) => void): unknown;
}

type AddBulk = (jobs: Parameters<Queue['addBulk']>[0]) => Promise<unknown>;

/** In PostgreSQL, BullMQ makes two temporary tables for a set of jobs: as much work as some twenty single ones. */
const FEW = 10;

const addingFew =
  (queue: Pick<Queue, 'add' | 'addBulk'>): AddBulk =>
  (jobs) =>
    jobs.length > FEW
      ? queue.addBulk(jobs)
      : Promise.all(jobs.map(({ name, data, opts }) => queue.add(name, data, opts)));

interface WrappedQueue {
  readonly queue: Pick<Queue, 'close'> & Faulty;
  readonly addBulk: AddBulk;
  readonly outage: Outage;
  readonly onError: (error: Error) => void;
}

function wrapQueue({ queue, addBulk, outage, onError }: WrappedQueue): WorkQueue {
  queue.on('error', onError);
  return {
    add: async (jobs) => {
      const waking = jobs.map(({ id, name, data }) => ({ name, data, opts: { jobId: id, ...KEEP_NOTHING } }));
      try {
        await addBulk(waking);
      } catch (error) {
        if (isUnavailability(error)) outage.noticed(error);
        throw error;
      }
    },
    close: () => queue.close(),
  };
}

function wrapWorker(worker: Pick<Worker, 'close'> & Faulty, onError: (error: Error) => void): QueueConsumer {
  worker.on('error', onError);
  return { close: (force) => worker.close(force) };
}
