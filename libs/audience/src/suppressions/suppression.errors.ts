import { DomainError } from '#kernel';

/** The address is on the suppression list, which only its own removal lifts. */
export class SuppressedError extends DomainError {
  override readonly code = 'suppressed';

  constructor() {
    super('The address is suppressed. Remove the suppression first, if its owner wants that.');
  }
}

/** Mail to the address would be allowed again, and the caller did not say that this is meant. */
export class UnsuppressUnconfirmedError extends DomainError {
  override readonly code = 'confirmation-required';

  constructor() {
    super('Removing a suppression needs the header X-Confirm-Unsuppress: true.');
  }
}
