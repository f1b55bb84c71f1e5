import { registerHooks } from 'node:module';
import { constants, setPriority } from 'node:os';
import { faultOf, type TaskFault } from '../content.errors.js';
import {
  bodyFaults,
  customKeysIn,
  eventPathsIn,
  mapTexts,
  type WrittenContent,
} from '../merge/merge-review.js';
import { isStructured } from '../merge/merge-output.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import type { MergeValues } from '../merge/merge-values.js';
import { MailRenderer, type RenderInput } from '../mail/mail-renderer.js';
import { MailTrials, type TrialInput } from '../mail/mail-trial.js';
import type { CompileTasks } from './compile-tasks.js';
import type { StoredImage } from './image.js';

const renderer = new MailRenderer();
const trials = new MailTrials();

/** Tasks with merge tags only, and with images. */
const TASKS = {
  bodyFaults: ({ body, customKeys }: { body: unknown; customKeys: readonly string[] }) =>
    bodyFaults(body, customKeys),
  fill: ({ body, values }: { body: unknown; values: MergeValues }) =>
    mapTexts(body, (text) => filledIn(text, values)),
  customKeys: (written: WrittenContent) => customKeysIn(written),
  eventPaths: (content: Readonly<Record<string, unknown>>) => eventPathsIn(content),
  render: (input: RenderInput) => renderer.render(input),
  tryOut: (input: TrialInput) => trials.tryOut(input),
  image: async (input: { content: Uint8Array; width?: number | null }): Promise<StoredImage> => {
    // Loaded where it is used alone: its libraries would be in the processes of all projects' mails.
    const { storedImage } = await import('./image.js');
    return storedImage(input);
  },
};

/** The text with its merge tags filled in. One alone that shows an object, or a list of them, is that value. */
function filledIn(text: string, values: MergeValues): unknown {
  const template = compileMergeTemplate(text, 'none');
  const { slots } = template;
  const [alone, ...others] = slots?.values(values) ?? [];
  const isAlone = others.length === 0 && slots?.texts.every((part) => part.trim() === '') === true;
  return isAlone && isStructured(alone) ? alone : template.render(values);
}

type Tasks = typeof TASKS & CompileTasks;
export type TaskName = keyof Tasks;
export type TaskInput<Name extends TaskName> = Parameters<Tasks[Name]>[0];
export type TaskValue<Name extends TaskName> = Awaited<ReturnType<Tasks[Name]>>;

/** Outcome of a task, and the CPU time that it took. */
export type Done<Name extends TaskName> = { readonly cpuMs: number } & (
  | { readonly value: TaskValue<Name> }
  | { readonly fault: TaskFault }
);

interface Task<Name extends TaskName> {
  readonly name: Name;
  readonly input: TaskInput<Name>;
}

// Dependencies of MJML and juice that are not used: cheerio's HTTP client, which nothing may have that projects' content runs
// in, and tools that make HTML small or pretty. They would be half of the time to load.
const UNUSED = new Set(['undici', 'htmlnano', 'cssnano-preset-lite', 'js-beautify']);
registerHooks({
  resolve: (specifier, context, next) => next(UNUSED.has(specifier) ? 'node:url' : specifier, context),
});
// Content of one project waits for the loops of the api and the worker, which all projects need.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
process.on('message', (task: Task<TaskName>) => void answer(task));
if (process.argv[2] === 'compile') await loadCompilers();
if (process.argv[2] === 'image') await import('./image.js');

async function answer(task: Task<TaskName>): Promise<void> {
  process.send?.(await run(task));
}

/** One task at a time. */
async function run<Name extends TaskName>({ name, input }: Task<Name>): Promise<Done<Name>> {
  // Loaded before the clock begins: no project pays for it.
  const tasks = (name in TASKS ? TASKS : await loadCompilers()) as Tasks;
  const task = tasks[name] as (input: TaskInput<Name>) => TaskValue<Name> | Promise<TaskValue<Name>>;
  const begun = process.cpuUsage();
  const ended = await attempt(task, input);
  const { user, system } = process.cpuUsage(begun);
  return { ...ended, cpuMs: (user + system) / 1_000 };
}

/** Not where mails are rendered alone, whose process starts in half the time without. */
async function loadCompilers(): Promise<CompileTasks> {
  const [{ COMPILE_TASKS }] = await Promise.all([
    import('./compile-tasks.js'),
    import('mjml'),
    import('juice'),
  ]);
  return COMPILE_TASKS;
}

async function attempt<Input, Value>(task: (input: Input) => Value | Promise<Value>, input: Input) {
  try {
    return { value: await task(input) };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}
