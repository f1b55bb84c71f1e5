import { DomainError } from '#kernel';

/** The plan allows no more of something. */
export class PlanLimitReachedError extends DomainError {
  override readonly code = 'domain-validation';

  /** `what` in the words of the message: `projects`, `campaigns a month`. */
  constructor(
    readonly limit: number,
    readonly what: string,
  ) {
    super(`The plan’s limit of ${limit} ${what} is reached.`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { errors: { plan: `the plan's limit of ${this.limit} ${this.what} is reached` } };
  }
}
