import { boundedErrors, DomainError } from '#kernel';

/** What was sent can never be imported, whatever the project knows: no header, no CSV, not UTF-8. */
export class ImportNotReadableError extends DomainError {
  override readonly code = 'validation-error';

  /** `errors` maps what is wrong (`body`, `columns[2]`, `mapping.Mail`) to its message. */
  constructor(readonly errors: Readonly<Record<string, string>>) {
    super('The import cannot be read.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { errors: boundedErrors(this.errors) };
  }
}
