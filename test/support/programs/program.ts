import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { programFlags, PROGRAM_VARIABLES } from '../../../apps/launcher/src/program-flags.js';
import { projectRoot } from '../../../libs/platform/src/project-root.js';

/** A program of ours that runs as its own process, as it would in production. */
export interface RunningProgram {
  readonly pid: number;
  readonly port: number;
  /** Port of a worker's bounce server, where there is one. */
  readonly bouncePort: number | null;
  /** All that it has written so far. */
  output(): string;
  /** SIGKILL: it gets no chance to tidy up. */
  kill(): Promise<void>;
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number | null>;
  /** The sources of ours, of which a function ran since the last question: for a program started with `TRACED_PROGRAM` only. */
  trace(): Promise<ReadonlySet<string>>;
  /** Resolves when its clock tells the time that the database tells; at once when it has ended. */
  readClock(): Promise<void>;
}

type Ports = Pick<RunningProgram, 'port' | 'bouncePort'>;
export type Program = 'api' | 'worker';
export type Environment = Readonly<Record<string, string>>;

/** These only end a hang: a start takes 2 s on two free cores, a stop less. */
const START_MS = 5 * 60_000;
const STOP_MS = 3 * 60_000;

const FOLLOWED_CLOCK = './dist/test/support/programs/followed-clock.js';
/** For a program that has the run's cache of compiled code. */
export const KNOWN_MODULES = ['--import', './dist/test/support/programs/known-modules.js'] as const;
/** For `NODE_OPTIONS`. */
export const TRACED_PROGRAM = '--import ./dist/test/support/programs/traced-program.js';

const RECORDED_STATEMENTS = './dist/test/support/row-types/recorded-statements.js';

const running = new Set<ChildProcess>();

/** Ends what tests of this process have left running, as one does that waited in vain: it would keep the process from ending. */
export async function endPrograms(): Promise<void> {
  await Promise.all([...running].map((child) => ended(child, 'SIGKILL')));
}

/** Starts a built program and waits until it listens. Its environment is `environment`, PATH and the run's cache of compiled code. */
export async function startProgram(program: Program, environment: Environment): Promise<RunningProgram> {
  const compiled = environment['NODE_COMPILE_CACHE'] ?? process.env['NODE_COMPILE_CACHE'] ?? '';
  const isQuick = compiled !== '';
  const loaded = [FOLLOWED_CLOCK, RECORDED_STATEMENTS].flatMap((file) => ['--import', file]);
  const flags = [...flagsOf(program, isQuick), ...(isQuick ? KNOWN_MODULES : []), ...loaded];
  const child = spawn(process.execPath, [...flags, `dist/apps/${program}/src/main.js`], {
    cwd: projectRoot(),
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: compiled,
      NODE_ENV: 'test',
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'warn',
      PORT: '0',
      // Only ends a hang.
      REQUEST_TIMEOUT_MS: '600000',
      ...PROGRAM_VARIABLES,
      MAILWRIGHT_TEST_STATEMENTS: process.env['MAILWRIGHT_TEST_STATEMENTS'],
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const ports = await listening(child, program, () => output);
  if (isQuick && child.connected) child.send({ type: 'keep-modules' });
  return {
    pid: child.pid ?? 0,
    ...ports,
    output: () => output,
    kill: async () => {
      await ended(child, 'SIGKILL');
    },
    stop: () => ended(child, 'SIGTERM'),
    trace: () => traced(child),
    readClock: () => clockRead(child),
  };
}

/** Flags of a program; a quick one measures no memory, so it skips the collection after the start, a sixth of the start's cost. */
function flagsOf(program: Program, isQuick: boolean): readonly string[] {
  return programFlags(program).filter((flag) => !isQuick || flag !== '--expose-gc');
}

const clockRead = async (child: ChildProcess): Promise<void> => {
  await answered(child, 'read-clock', 'clock-read');
};

/** Resolves to the answer to a question, and to nothing when the program has ended. */
function answered<Answer extends object>(
  child: ChildProcess,
  question: string,
  answer: string,
): Promise<Partial<Answer>> {
  return new Promise((resolve) => {
    if (!child.connected) return resolve({});
    const done = (message: Partial<Answer>) => {
      child.off('message', read).off('exit', exited);
      resolve(message);
    };
    const exited = () => done({});
    const read = (message: Partial<Answer> & { readonly type?: string }) => {
      if (message.type === answer) done(message);
    };
    child.on('message', read).once('exit', exited);
    child.send({ type: question });
  });
}

async function traced(child: ChildProcess): Promise<ReadonlySet<string>> {
  const { scripts = [] } = await answered<{ readonly scripts?: readonly string[] }>(child, 'trace', 'traced');
  const sources = scripts.map((url) => /\/dist\/((?:apps|libs)\/.*)\.js$/.exec(url)?.[1]);
  return new Set(sources.filter((source) => source !== undefined).map((source) => `${source}.ts`));
}

function listening(child: ChildProcess, program: Program, output: () => string): Promise<Ports> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer);
      reject(new Error(`The ${program} ${why}:\n${output()}`));
    };
    const timer = setTimeout(() => fail(`did not listen within ${START_MS} ms`), START_MS);
    // Not `exit`, at which what it said last may not have come yet.
    child.once('close', (code) => fail(`ended with ${String(code)}`));
    child.on('message', (message: { type?: string; port?: number; bouncePort?: number | null }) => {
      if (message.type !== 'listening' || message.port === undefined) return;
      clearTimeout(timer);
      resolve({ port: message.port, bouncePort: message.bouncePort ?? null });
    });
  });
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  let hang: Error | undefined;
  const timer = setTimeout(() => {
    hang = new Error(`It did not end within ${STOP_MS} ms of ${signal}. Its threads:\n${threadsOf(child)}`);
    child.kill('SIGKILL');
  }, STOP_MS);
  await exit;
  clearTimeout(timer);
  if (hang !== undefined) throw hang;
  return child.exitCode;
}

/** A line a thread, with its name, its state and where in the kernel it waits; Linux only. */
function threadsOf({ pid }: ChildProcess): string {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return 'unknown here';
  const told = (thread: string, file: string) => readFileSync(join(tasks, thread, file), 'utf8').trim();
  return readdirSync(tasks)
    .map((thread) => `${told(thread, 'stat')} ${told(thread, 'wchan')}`)
    .join('\n');
}
