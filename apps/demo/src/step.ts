import type { Answer } from './answer.js';
import type { DemoRequest } from './demo-request.js';
import type { Story } from './story.js';

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
