import { DomainError, RateLimitedError } from '#kernel';
import type { PreSendCheck } from '#deliverability';

/** A critical check failed; `checks` are all that were made. */
export class PreSendRejectedError extends DomainError {
  override readonly code = 'pre-send-rejected';

  /** `earlierFailure` is why the campaign could not go on the last time. */
  constructor(
    readonly checks: readonly PreSendCheck[],
    earlierFailure: string | null = null,
  ) {
    const earlier = earlierFailure === null ? '' : ` The last sending failed: ${earlierFailure}`;
    super(`The campaign cannot be sent: ${describeFailures(checks)}${earlier}`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { checks: this.checks };
  }
}

/** There is no time to send at: none is set, or it is past. */
export class ScheduleMissingError extends DomainError {
  override readonly code = 'schedule-missing';

  constructor() {
    super('The campaign has no scheduledAt or scheduledAtLocal in the future.');
  }
}

/** More test mails were asked for than an hour allows. */
export class TooManyTestMailsError extends RateLimitedError {
  constructor(limit: number, retryAfterSeconds: number) {
    super(`At most ${limit} test mails an hour.`, retryAfterSeconds);
  }
}

/** The messages of the failed critical checks, as one text. */
export function describeFailures(checks: readonly PreSendCheck[]): string {
  return checks
    .filter(({ result, severity }) => result === 'FAIL' && severity === 'CRITICAL')
    .map(({ message }) => message)
    .join(' ');
}
