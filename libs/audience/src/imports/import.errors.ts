import { boundedErrors, DomainError } from '#kernel';

/** The body can never be imported into any project: no header, not CSV, or not UTF-8. */
export class ImportNotReadableError extends DomainError {
  override readonly code = 'validation-error';

  /** `errors` maps the place (`body`, `columns[2]`, `mapping.Mail`) to the message. */
  constructor(readonly errors: Readonly<Record<string, string>>) {
    super('The import cannot be read.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { errors: boundedErrors(this.errors) };
  }
}
