/** Stable codes of the domain's refusals. A problem's `type` ends in the same word. */
export type DomainErrorCode =
  | 'already-exists'
  | 'confirmation-required'
  | 'domain-validation'
  | 'in-use'
  | 'invalid-state'
  | 'last-managing-key'
  | 'not-found'
  | 'not-subscribed'
  | 'pre-send-rejected'
  | 'rate-limited'
  | 'schedule-missing'
  | 'suppressed'
  | 'unauthorized'
  | 'unavailable'
  | 'unsubscribed'
  | 'validation-error';

/** A refusal by the domain, in words for the caller. The HTTP edge alone knows its status. */
export abstract class DomainError extends Error {
  abstract readonly code: DomainErrorCode;

  /** Extra members of the problem, such as `currentState`. */
  get members(): Readonly<Record<string, unknown>> {
    return {};
  }
}

/** The resource does not exist, or is another project's: the two must look the same. */
export class NotFoundError extends DomainError {
  override readonly code = 'not-found';

  constructor(detail = 'The requested resource does not exist.') {
    super(detail);
  }
}

/** Faults of fields that only the project's data shows. */
export class DomainValidationError extends DomainError {
  override readonly code = 'domain-validation';

  /** `errors` maps a dotted field path (`topicKeys[0]`) to its message. */
  constructor(
    readonly errors: Readonly<Record<string, string>>,
    message = 'The request is well-formed, but this project does not allow it.',
  ) {
    super(message);
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

/** More was asked for than a limit of ours allows; the HTTP edge's own limits are not meant. */
export abstract class RateLimitedError extends DomainError {
  override readonly code = 'rate-limited';

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

/** A part that must answer did not do so in time. */
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

export type UserKind = 'campaign' | 'automation' | 'segment' | 'template' | 'topic' | 'project';

/** A resource that uses another, which therefore cannot be removed. */
export interface ResourceUser {
  readonly kind: UserKind;
  readonly key: string;
  readonly name: string;
}

/** The most users that a problem names. */
const NAMED = 10;

/** The resource cannot be removed while others use it. */
export class InUseError extends DomainError {
  override readonly code = 'in-use';

  /** `what` begins a sentence: “The topic”. `count`: users, where those given are only the first. */
  constructor(
    what: string,
    readonly users: readonly ResourceUser[],
    private readonly count = users.length,
  ) {
    super(`${what} is used by ${inWords(users, count)}.`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    const usedBy = this.users.slice(0, NAMED).map(({ kind, key, name }) => ({ kind, key, name }));
    return { usedBy, usedByCount: this.count };
  }
}

function inWords(users: readonly ResourceUser[], count: number): string {
  const named = users.slice(0, NAMED).map(({ kind, key, name }) => `the ${kind} ${key} “${name}”`);
  const more = count - named.length;
  const last = more > 0 ? `${more} more` : (named.pop() ?? 'something else');
  return named.length === 0 ? last : `${named.join(', ')} and ${last}`;
}

type FieldErrors = Readonly<Record<string, string>>;

const MOST_FIELDS = 100;
const LONGEST_NAME = 200;
const LONGEST_MESSAGE = 1_000;

/** Errors of the first 100 fields, cut to a bearable length; `…` says how many more there are. */
export function boundedErrors(errors: FieldErrors): FieldErrors {
  const all = Object.entries(errors);
  const named = all
    .slice(0, MOST_FIELDS)
    .map(([name, message]) => [cut(name, LONGEST_NAME), cut(message, LONGEST_MESSAGE)] as const);
  const more = all.length - named.length;
  const rest = more === 0 ? [] : [['…', `and ${more} more`] as const];
  return Object.fromEntries([...named, ...rest]);
}

function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text;
}
