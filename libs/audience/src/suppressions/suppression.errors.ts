import { DomainError } from '#kernel';

/** The address is suppressed until it is removed from the suppression list. */
export class SuppressedError extends DomainError {
  override readonly code = 'suppressed';

  constructor() {
    super('The address is suppressed. Remove the suppression first, if its owner wants that.');
  }
}

/** Removing the suppression needs a confirmation by the caller. */
export class UnsuppressUnconfirmedError extends DomainError {
  override readonly code = 'confirmation-required';

  constructor() {
    super('Removing a suppression needs the header X-Confirm-Unsuppress: true.');
  }
}
