import { boundedErrors } from './bounded-errors.js';

/** The stable codes of what the domain can refuse. A problem's `type` ends in the same word. */
export type DomainErrorCode =
  | 'already-exists'
  | 'confirmation-required'
  | 'domain-validation'
  | 'in-use'
  | 'invalid-state'
  | 'not-found'
  | 'pre-send-rejected'
  | 'rate-limited'
  | 'schedule-missing'
  | 'suppressed'
  | 'unavailable'
  | 'unsubscribed'
  | 'validation-error';

/** What the domain refuses, in words for the caller. The HTTP edge alone knows which status it becomes. */
export abstract class DomainError extends Error {
  abstract readonly code: DomainErrorCode;

  /** Extra members of the problem, such as `currentState`. */
  get members(): Readonly<Record<string, unknown>> {
    return {};
  }
}

/** The resource is not there, or is another project's: the two must look the same. */
export class NotFoundError extends DomainError {
  override readonly code = 'not-found';

  constructor() {
    super('The requested resource does not exist.');
  }
}

/** The fields of a request that need the project's data to be judged, and what is wrong with each. */
export class DomainValidationError extends DomainError {
  override readonly code = 'domain-validation';

  /** `errors` maps a dotted field path (`topicKeys[0]`) to its message. */
  constructor(readonly errors: Readonly<Record<string, string>>) {
    super('The request is well-formed, but this project does not allow it.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { errors: boundedErrors(this.errors) };
  }
}

/** The resource's state does not allow the transition. */
export class InvalidStateError extends DomainError {
  override readonly code = 'invalid-state';

  constructor(
    message: string,
    readonly currentState: string,
    readonly allowedStates: readonly string[],
  ) {
    super(message);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { currentState: this.currentState, allowedStates: this.allowedStates };
  }
}

/** A part that must answer did not in time. */
export class UnavailableError extends DomainError {
  override readonly code = 'unavailable';

  constructor(
    message: string,
    readonly retryAfterSeconds: number,
  ) {
    super(message);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { retryAfterSeconds: this.retryAfterSeconds };
  }
}
