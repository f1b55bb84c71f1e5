import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot, tracedWithin } from '#platform';
import type { Done, TaskInput, TaskName } from './content-process.js';
import { FairQueue } from './fair-queue.js';
import { TOO_COMPLEX } from '../content.errors.js';

interface ProcessLimits {
  /** CPU time of one task. */
  readonly cpuMs: number;
  /** Most that JavaScript's objects may take. */
  readonly memoryMb: number;
  /** Most that the whole process may take, native libraries included. Absent: not watched. */
  readonly processMb?: number;
}

const ENTRY = 'dist/libs/messaging/src/content/processes/content-process.js';
/** An author looks again within a minute, and a start takes a second. */
const IDLE_MS = 60_000;
const WATCH_EVERY_MS = 200;
/** Decoding may take 100 MB in this time. */
const WATCH_MEMORY_EVERY_MS = 50;
const MS_IN_TICK = 10;

/**
 * A process for projects' content, which they take in turn; it runs only while it is needed. A thread would not do: where its
 * memory is not enough, V8 may end the whole process, and with it the service of all projects.
 */
export class ContentPoolService {
  readonly #queue = new FairQueue();
  #process: ChildProcess | null = null;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `use`: a process loads the libraries that it needs as it starts. */
  constructor(
    private readonly limits: ProcessLimits,
    private readonly use: 'compile' | 'render' | 'image' = 'render',
  ) {}

  /** Starts the process, or keeps it: it will probably be needed soon. */
  warm(): void {
    if (this.#isClosed) return;
    if (this.#process !== null) return void this.#idle?.refresh();
    this.#process = this.#start();
    letGo(this.#process);
    this.#endWhenIdle();
  }

  /** Runs a task; never rejects because of the content. */
  run<Name extends TaskName>(projectId: number, name: Name, input: TaskInput<Name>): Promise<Done<Name>> {
    return tracedWithin({ name: `content ${name}`, kind: 'internal' }, async (span) => {
      const done = await this.#queue.run(projectId, () => this.#run(name, input));
      if ('fault' in done) span?.fail('refused');
      return done;
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#end();
  }

  async #run<Name extends TaskName>(name: Name, input: TaskInput<Name>): Promise<Done<Name>> {
    if (this.#isClosed) throw new Error('Content is not made into mails any more.');
    clearTimeout(this.#idle);
    this.#idle = undefined;
    this.#process ??= this.#start();
    const child = this.#process;
    hold(child);
    const watch = this.#watch(child);
    try {
      child.send({ name, input });
      const done = await answerOf(child);
      if (done !== null) return done as Done<Name>;
      if (child.signalCode === null || this.#isClosed)
        throw new Error(`The process ended with ${child.exitCode}.`);
      return { fault: TOO_COMPLEX, cpuMs: this.limits.cpuMs };
    } finally {
      clearInterval(watch);
      letGo(child);
      this.#endWhenIdle();
    }
  }

  /** The process gets nothing of our environment: no secret, no address of a database. */
  #start(): ChildProcess {
    const child = fork(join(projectRoot(), ENTRY), [this.use], {
      env: {},
      execArgv: [`--max-old-space-size=${this.limits.memoryMb}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('exit', () => {
      if (this.#process === child) this.#process = null;
    });
    return child;
  }

  #endWhenIdle(): void {
    this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #end(): void {
    this.#process?.kill('SIGKILL');
    this.#process = null;
  }

  /** Ends the process when its task has taken more than it may. */
  #watch(child: ChildProcess): NodeJS.Timeout {
    const { cpuMs, processMb } = this.limits;
    const watch = new TaskWatch(cpuMs);
    const look = async (): Promise<void> => {
      if (watch.hasExceeded(await cpuMsOf(child), performance.now())) child.kill('SIGKILL');
      else if (processMb !== undefined && (await residentMbOf(child)) > processMb) child.kill('SIGKILL');
    };
    void look();
    return setInterval(() => void look(), processMb === undefined ? WATCH_EVERY_MS : WATCH_MEMORY_EVERY_MS);
  }
}

/** Answer of the process; null when it ended instead. */
async function answerOf(child: ChildProcess): Promise<unknown> {
  const abort = new AbortController();
  const { signal } = abort;
  try {
    const answer = once(child, 'message', { signal }).then(([done]: unknown[]) => done);
    return await Promise.race([answer, once(child, 'exit', { signal }).then(() => null)]);
  } finally {
    abort.abort();
  }
}

/** CPU time so far; 0 where there is no /proc. */
async function cpuMsOf({ pid }: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) * MS_IN_TICK;
}

/** Memory of the process now; 0 where there is no /proc. */
async function residentMbOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024;
}

function hold(child: ChildProcess): void {
  child.ref();
  child.channel?.ref();
}

/** A process that waits for work keeps no program from ending. */
function letGo(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

/** Also the longest time of a task where the system does not tell its CPU time. */
const HUNG_AFTER_MS = 120_000;

/**
 * Watches a task, to end it when it has taken more CPU time than it may, or none for two minutes. A task that gets little,
 * since the machine is busy, is left alone however long it lasts.
 */
export class TaskWatch {
  #first: number | undefined;
  #taken: number | undefined;
  #progressAt = 0;

  constructor(private readonly cpuMs: number) {}

  /** `cpuMs`: CPU time of the process since it began. */
  hasExceeded(cpuMs: number, nowMs: number): boolean {
    this.#first ??= cpuMs;
    if (cpuMs !== this.#taken) {
      this.#taken = cpuMs;
      this.#progressAt = nowMs;
    }
    return cpuMs - this.#first > this.cpuMs || nowMs - this.#progressAt > HUNG_AFTER_MS;
  }
}
