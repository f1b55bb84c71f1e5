import { registerHooks } from 'node:module';
import { constants, setPriority } from 'node:os';
import { COMPILE_TASKS, type TaskInput, type TaskName, TASKS, type TaskValue } from './content-tasks.js';
import { faultOf, type TaskFault } from './task-fault.js';

interface Task<Name extends TaskName> {
  readonly name: Name;
  readonly input: TaskInput<Name>;
}

/** How a task ended, and the CPU time that it took. */
export type Done<Name extends TaskName> = { readonly cpuMs: number } & (
  | { readonly value: TaskValue<Name> }
  | { readonly fault: TaskFault }
);

// What MJML and juice bring and is not used: cheerio's HTTP client, which nothing may have that projects' content runs in, and
// what makes HTML small or pretty. All of it would be half of what they take to load.
const UNUSED = new Set(['undici', 'htmlnano', 'cssnano-preset-lite', 'js-beautify']);
registerHooks({
  resolve: (specifier, context, next) => next(UNUSED.has(specifier) ? 'node:url' : specifier, context),
});
// What a project's content is made into waits for what all projects need: the loops of the api and the worker.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
process.on('message', (task: Task<TaskName>) => void answer(task));
if (process.argv[2] === 'compile') await loadCompilers();

async function answer(task: Task<TaskName>): Promise<void> {
  process.send?.(await run(task));
}

/** One task at a time. */
async function run<Name extends TaskName>({ name, input }: Task<Name>): Promise<Done<Name>> {
  // Not at the cost of whose it is.
  if (name in COMPILE_TASKS) await loadCompilers();
  const begun = process.cpuUsage();
  const ended = await attempt(name, input);
  const { user, system } = process.cpuUsage(begun);
  return { ...ended, cpuMs: (user + system) / 1_000 };
}

function loadCompilers(): Promise<unknown> {
  return Promise.all([import('mjml'), import('juice')]);
}

async function attempt<Name extends TaskName>(name: Name, input: TaskInput<Name>) {
  const task = TASKS[name] as (input: TaskInput<Name>) => TaskValue<Name> | Promise<TaskValue<Name>>;
  try {
    return { value: await task(input) };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}
