import type { Schemas } from './operations.js';

/** Every type of problem that the API answers with: the last part of a problem's `type`. */
export const PROBLEM_SLUGS = [
  'malformed-json',
  'validation-error',
  'confirmation-required',
  'unauthorized',
  'insufficient-scope',
  'network-not-allowed',
  'not-found',
  'method-not-allowed',
  'not-acceptable',
  'payload-too-large',
  'unsupported-media-type',
  'already-exists',
  'invalid-state',
  'pre-send-rejected',
  'schedule-missing',
  'suppressed',
  'not-subscribed',
  'unsubscribed',
  'in-use',
  'last-managing-key',
  'idempotency-in-flight',
  'domain-validation',
  'idempotency-key-reused',
  'rate-limited',
  'internal-error',
  'unavailable',
] as const;
export type ProblemSlug = (typeof PROBLEM_SLUGS)[number];

/** Additional members of problems, by type. */
export interface ProblemMembers {
  'validation-error': { errors: Record<string, string> };
  'domain-validation': { errors: Record<string, string> };
  'not-subscribed': { recipients: Record<string, string> };
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

  /** Names the request in the log of the installation. */
  get requestId(): string {
    return this.problem.requestId;
  }

  /** Errors by the path of their field; empty where no field is wrong. */
  get errors(): Readonly<Record<string, string>> {
    return (this.problem as { errors?: Record<string, string> }).errors ?? {};
  }

  is<Wanted extends ProblemSlug>(slug: Wanted): this is MailwrightError<Wanted> {
    const own: ProblemSlug = this.slug;
    return own === slug;
  }
}

/**
 * No answer came, or a part of one: the network failed, it took too long, or the caller aborted it. Or another server answered, such as
 * a proxy with a page of its own.
 */
export class MailwrightConnectionError extends Error {
  override readonly name: string = 'MailwrightConnectionError';
}
