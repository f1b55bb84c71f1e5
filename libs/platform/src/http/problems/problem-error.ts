import { boundedErrors } from '#kernel';
import type { ProblemSlug } from './problem-types.js';

export interface ProblemDetails {
  /** What went wrong this time, for the caller's eyes. */
  readonly detail?: string;
  /** Extra members of the body, such as `requiredScope`. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Headers that belong to the status, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the HTTP edge refuses by itself; what the domain refuses is a `DomainError`. */
export class ProblemError extends Error {
  constructor(
    readonly slug: ProblemSlug,
    readonly details: ProblemDetails = {},
  ) {
    super(details.detail ?? slug);
  }
}

/** A 400 that names every field that is wrong: dotted path → message. */
export function invalidRequest(errors: Readonly<Record<string, string>>): ProblemError {
  return new ProblemError('validation-error', {
    detail: 'One or more fields are not valid.',
    members: { errors: boundedErrors(errors) },
  });
}
