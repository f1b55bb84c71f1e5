import type { Schemas } from './operations.js';
import type { ProblemSlug } from './problem-slugs.js';

/** What problems of some types carry besides. */
export interface ProblemMembers {
  'validation-error': { errors: Record<string, string> };
  'domain-validation': { errors: Record<string, string> };
  'insufficient-scope': { requiredScope: string };
  'invalid-state': { currentState: string; allowedStates: string[] };
  /** At most ten of them. */
  'in-use': { usedBy: { kind: string; key: string; name: string }[]; usedByCount: number };
  'pre-send-rejected': { checks: { code: string; severity: string; result: string; message: string }[] };
}

export type Problem<Slug extends ProblemSlug = ProblemSlug> = Schemas['Problem'] &
  (Slug extends keyof ProblemMembers ? ProblemMembers[Slug] : unknown);

/** The API answered with a problem (RFC 9457). `slug` says which: `error.is('suppressed')`. */
export class MailwrightError<Slug extends ProblemSlug = ProblemSlug> extends Error {
  override readonly name: string = 'MailwrightError';

  constructor(
    readonly status: number,
    /** The last part of the problem's type; a client may meet one that it does not know yet. */
    readonly slug: Slug,
    readonly problem: Problem<Slug>,
    /** Seconds after which the request may be sent again, where the API said so. */
    readonly retryAfter: number | null,
  ) {
    super(problem.detail ?? problem.title);
  }

  /** For whoever helps: names the request in the log. */
  get requestId(): string {
    return this.problem.requestId;
  }

  /** What is wrong with each field, by its path; empty where no field is. */
  get errors(): Readonly<Record<string, string>> {
    return (this.problem as { errors?: Record<string, string> }).errors ?? {};
  }

  is<Wanted extends ProblemSlug>(slug: Wanted): this is MailwrightError<Wanted> {
    const own: ProblemSlug = this.slug;
    return own === slug;
  }
}

/** No answer came: the network failed, or it took too long. */
export class MailwrightConnectionError extends Error {
  override readonly name: string = 'MailwrightConnectionError';
}
