import { DomainError } from '#kernel';
import type { PreSendCheck } from '#deliverability';

/** A critical check failed; `checks` tells all that were made. */
export class PreSendRejectedError extends DomainError {
  override readonly code = 'pre-send-rejected';

  constructor(readonly checks: readonly PreSendCheck[]) {
    const failed = checks.filter(({ result, severity }) => result === 'FAIL' && severity === 'CRITICAL');
    super(`The campaign cannot be sent: ${failed.map(({ message }) => message).join(' ')}`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { checks: this.checks };
  }
}
