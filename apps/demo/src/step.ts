import type { Answer } from './answer.js';
import type { DemoRequest } from './demo-request.js';
import type { Story } from './story.js';

/** One request of the demo and what has to come back for it. */
export interface Step {
  /** What is going on, in words. */
  readonly name: string;
  readonly request: (story: Story) => DemoRequest;
  /** Where the worker has to act first: the request is repeated until this says yes, or patience ends. */
  readonly isDone?: (answer: Answer) => boolean;
  /** Dotted paths of what is worth showing of a long answer; all of it without. */
  readonly shows?: readonly string[];
  /** Says in words what is right about the answer; throws `Unmet` when something is not. */
  readonly check: (answer: Answer, story: Story) => string;
}
