import { DomainError } from '#kernel';

/** The key that a new tenant asks for is another's. */
export class TenantAlreadyExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(readonly tenantKey: string) {
    super(`A tenant with the key ${tenantKey} already exists.`);
  }
}
