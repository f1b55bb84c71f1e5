import { type DemoClient, UnreachableError } from './demo-client.js';
import { DemoError } from './demo.error.js';
import { Unmet } from './expectation.js';
import type { Step } from './step.js';
import type { Story } from './story.js';
import type { Outcome, Transcript } from './transcript.js';

export interface Run {
  readonly client: DemoClient;
  readonly story: Story;
  readonly transcript: Transcript;
  /** How long to wait for the worker in one step. */
  readonly patienceMs: number;
}

/**
 * Runs the steps in order and stops at the first that fails: each needs those before it. Throws `DemoError` when the
 * server does not answer the first request.
 */
export async function runFlow(flow: readonly Step[], run: Run): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let goesOn = true;
  for (const [index, step] of flow.entries()) {
    const tried = goesOn;
    goesOn = goesOn && (await holds(step, index + 1, run));
    outcomes.push({ name: step.name, result: goesOn ? 'held' : tried ? 'failed' : 'open' });
  }
  return outcomes;
}

async function holds(step: Step, number: number, run: Run): Promise<boolean> {
  const { story, transcript } = run;
  transcript.step(number, step.name);
  try {
    transcript.held(step.check(await ask(step, run), story));
    return true;
  } catch (error) {
    if (error instanceof UnreachableError && number === 1) throw notRunning(error);
    transcript.failed(number, unmetOf(error));
    return false;
  }
}

async function ask(step: Step, { client, story, transcript, patienceMs }: Run) {
  const polled = await client.poll(step.request(story), {
    isDone: step.isDone ?? (() => true),
    patienceMs,
    onSent: (sent) => transcript.request(sent),
  });
  transcript.answer(polled, step.shows);
  return polled.answer;
}

function unmetOf(error: unknown): Unmet {
  if (error instanceof Unmet) return error;
  if (error instanceof UnreachableError) return new Unmet('an answer', error.message);
  throw error;
}

function notRunning(error: UnreachableError): DemoError {
  return new DemoError(
    `Mailwright is not running: ${error.message}.\n` +
      'Start it with `npm start` in another terminal, wait until it says that it runs, and try again.',
    { cause: error },
  );
}
