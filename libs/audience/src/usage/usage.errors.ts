import { DomainError } from '#kernel';

/** It cannot be deleted while something uses it. */
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
