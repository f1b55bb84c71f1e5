import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { projectRoot } from '#platform';
import type { TaskInput, TaskName } from './content-tasks.js';
import type { Done, Task } from './content-thread.js';
import { ProjectTurns } from './project-turns.js';
import { TOO_COMPLEX } from './task-fault.js';

export interface ThreadLimits {
  /** CPU time of one task. */
  readonly cpuMs: number;
  readonly memoryMb: number;
}

const ENTRY = 'dist/libs/messaging/src/content-threads/content-thread.js';
const IDLE_MS = 10_000;
const WATCH_EVERY_MS = 200;
/** Where a thread does not even say what it has taken. */
const HUNG_AFTER_MS = 120_000;

/** A thread for what projects' content comes to, taken in turn. It is there only while it is needed. */
export class ContentPool {
  readonly #turns = new ProjectTurns();
  readonly #pool: Piscina<Task<TaskName>, Done<TaskName>>;

  constructor(private readonly limits: ThreadLimits) {
    this.#pool = new Piscina({
      filename: join(projectRoot(), ENTRY),
      name: 'run',
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: limits.memoryMb },
      recordTiming: false,
    });
    // A thread that ends by its bounds is told of where its task is waited for.
    this.#pool.on('error', () => undefined);
  }

  /** Never rejects for what the content does. */
  run<Name extends TaskName>(projectId: number, name: Name, input: TaskInput<Name>): Promise<Done<Name>> {
    return this.#turns.run(projectId, () => this.#run({ name, input }));
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #run<Name extends TaskName>(task: Task<Name>): Promise<Done<Name>> {
    const abort = new AbortController();
    const watch = this.#watch(abort);
    try {
      return (await this.#pool.run(task, { signal: abort.signal })) as Done<Name>;
    } catch (error) {
      if (!abort.signal.aborted && !isOutOfMemory(error)) throw error;
      return { fault: TOO_COMPLEX, cpuMs: this.limits.cpuMs };
    } finally {
      clearInterval(watch);
    }
  }

  /** Ends the thread when its task has taken more than it may. */
  #watch(abort: AbortController): NodeJS.Timeout {
    const begun = performance.now();
    let before: number | undefined;
    return setInterval(() => {
      if (performance.now() - begun > HUNG_AFTER_MS) abort.abort();
      const [thread] = this.#pool.threads;
      if (thread === undefined) return;
      void cpuMsOf(thread).then(
        (taken) => {
          before ??= taken;
          if (taken - before > this.limits.cpuMs) abort.abort();
        },
        () => undefined,
      );
    }, WATCH_EVERY_MS);
  }
}

async function cpuMsOf(thread: Worker): Promise<number> {
  const { user, system } = await thread.cpuUsage();
  return (user + system) / 1_000;
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
