import { DomainError } from '#kernel';

/** It cannot go while others refer to it. */
export class InUseError extends DomainError {
  override readonly code = 'in-use';

  /** `users` in words: “a scheduled or sending campaign”. */
  constructor(
    what: string,
    readonly users: readonly string[],
  ) {
    super(`${what} is used by ${users.join(' and ')}.`);
  }
}
