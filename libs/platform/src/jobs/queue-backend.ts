import { createPostgresBackend, createRedisBackend, type Processor, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type pg from 'pg';
import { QUEUE_SCHEMA } from '../database/migrations.js';
import { sessionPool } from '../database/session.js';

/** All that a queued job holds: which inbox row to look at. */
export interface QueuedJob {
  readonly v: 1;
  readonly inboxId: number;
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
  close(): Promise<void>;
}

export interface QueueBackendOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  /** Told of faults of the connection; the queue recovers by itself. */
  readonly onError: (error: Error) => void;
}

// The truth is in the inbox, so nothing is kept of a job that ran, well or not.
const KEEP_NOTHING = { removeOnComplete: true, removeOnFail: true } as const;
/** Of a queue on PostgreSQL. */
const QUEUE_CONNECTIONS = 2;
const STALLED_CHECK_MS = 15_000;
/** A job is told of by NOTIFY; how often each queue is looked at besides, should a message be lost. */
const LOOK_EVERY_S = 60;

export function createQueueBackend(options: QueueBackendOptions): QueueBackend {
  return options.redisUrl === undefined ? postgresBackend(options) : redisBackend(options, options.redisUrl);
}

function postgresBackend({ databaseUrl, onError }: QueueBackendOptions): QueueBackend {
  return {
    kind: 'postgres',
    queue: (name) => {
      const connection = queuePool(databaseUrl, QUEUE_CONNECTIONS);
      const queue = wrapQueue(new Queue(name, { connection, ...quiet }, createPostgresBackend), onError);
      return { ...queue, close: () => closeBoth(queue.close(), connection) };
    },
    consumer: (name, concurrency, process) => {
      // BullMQ keeps one of them for LISTEN.
      const connection = queuePool(databaseUrl, QUEUE_CONNECTIONS + 1);
      const options = { connection, concurrency, drainDelay: LOOK_EVERY_S, ...workerDefaults };
      const worker = new Worker(name, processorOf(process), options, createPostgresBackend);
      const consumer = wrapWorker(worker, onError);
      return { close: (force) => closeBoth(consumer.close(force), connection) };
    },
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** The pool after what uses it. A consumer may be closed twice, the second time by force. */
async function closeBoth(closing: Promise<void>, pool: pg.Pool): Promise<void> {
  try {
    await closing;
  } finally {
    if (!pool.ending) await pool.end();
  }
}

/** Made here, since BullMQ's own would set the schema by an option of the connection's start, which poolers drop. */
function queuePool(databaseUrl: string, max: number): pg.Pool {
  const settings = [`search_path = ${QUEUE_SCHEMA}`, 'synchronous_commit = off'];
  const options = {
    connectionString: databaseUrl,
    max,
    application_name: 'mailwright-queue',
    keepAlive: true,
  };
  return sessionPool(options, 'mailwright_system', settings);
}

function redisBackend({ onError }: QueueBackendOptions, redisUrl: string): QueueBackend {
  const connect = (): Redis => {
    const redis = new Redis(redisUrl, { maxRetriesPerRequest: null, enableReadyCheck: true });
    redis.on('error', onError);
    return redis;
  };
  const shared = connect();
  return {
    kind: 'redis',
    queue: (name) =>
      wrapQueue(new Queue(name, { connection: shared, ...quiet }, createRedisBackend), onError),
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
    ping: async () => {
      await shared.ping();
    },
    close: () => {
      disconnect(shared);
      return Promise.resolve();
    },
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

function wrapQueue(
  queue: Pick<Queue, 'addBulk' | 'close'> & Faulty,
  onError: (error: Error) => void,
): WorkQueue {
  queue.on('error', onError);
  return {
    add: async (jobs) => {
      await queue.addBulk(
        jobs.map(({ id, name, data }) => ({ name, data, opts: { jobId: id, ...KEEP_NOTHING } })),
      );
    },
    close: () => queue.close(),
  };
}

function wrapWorker(worker: Pick<Worker, 'close'> & Faulty, onError: (error: Error) => void): QueueConsumer {
  worker.on('error', onError);
  return { close: (force) => worker.close(force) };
}
