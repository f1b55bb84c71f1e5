import { DomainError } from '#kernel';

/** The tenant has a project with this key. */
export class ProjectAlreadyExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(readonly projectKey: string) {
    super(`The tenant already has a project with the key ${projectKey}.`);
  }
}
