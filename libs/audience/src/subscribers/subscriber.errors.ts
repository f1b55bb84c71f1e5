import { DomainError } from '#kernel';

/** Another subscriber of the project has the address. */
export class SubscriberExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor() {
    super('A subscriber with this e-mail address exists already.');
  }
}
