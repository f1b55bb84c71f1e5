import { type DemoClient, type DemoRequest, UnreachableError } from './demo-client.js';
import { type Answer, Unmet } from './answer.js';
import { COMMANDS, DemoError } from './options.js';
import type { Outcome, Transcript } from './transcript.js';

/** One request of the demo and its expected answer. */
export interface Step {
  /** The description of the step. */
  readonly name: string;
  readonly request: (story: Story) => DemoRequest;
  /** For steps that wait for the worker: the request is repeated until this returns true, or patience ends. */
  readonly isDone?: (answer: Answer) => boolean;
  /** The dotted paths to show of a long answer; default: all of it. */
  readonly shows?: readonly string[];
  /** Describes what is right about the answer. Throws `Unmet`. */
  readonly check: (answer: Answer, story: Story) => string;
}

export interface Topic {
  readonly id: string;
  readonly topicKey: string;
  readonly name: string;
}

/** Facts that earlier steps note for later ones. */
export interface Facts {
  doubleOptIn: Topic;
  singleOptIn: Topic;
  confirmUrl: string;
  messageId: string;
  trackedUrl: string;
  unsubscribeUrl: string;
  firstCampaign: string;
  secondCampaign: string;
  automation: string;
  endpoint: string;
}

/** One run of the demo: its two subscribers, with new addresses each time, and the facts noted so far. */
export class Story {
  readonly ada: string;
  readonly grace: string;
  readonly #facts: Partial<Facts> = {};

  /** `runId` makes the addresses unique. */
  constructor(runId: string) {
    this.ada = `ada+${runId}@example.com`;
    this.grace = `grace+${runId}@example.com`;
  }

  note<Name extends keyof Facts>(name: Name, fact: Facts[Name]): void {
    this.#facts[name] = fact;
  }

  /** Throws when no earlier step has noted it. */
  fact<Name extends keyof Facts>(name: Name): Facts[Name] {
    const fact = this.#facts[name];
    if (fact === undefined) throw new Error(`No step has noted "${name}" yet.`);
    return fact;
  }
}

export interface Run {
  readonly client: DemoClient;
  readonly story: Story;
  readonly transcript: Transcript;
  /** The time to wait for the worker in one step. */
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
      `Start it with \`${COMMANDS.start}\` in another terminal, wait until it says that it runs, and try again.`,
    { cause: error },
  );
}
