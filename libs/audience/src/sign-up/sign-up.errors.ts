import { DomainError } from '#kernel';
import type { ConsentStatus } from '../consents/consent.js';

/** Another subscriber of the project has the address. */
export class SubscriberExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor() {
    super('A subscriber with this e-mail address exists already.');
  }
}

/** The consent exists already, or is pending. */
export class ConsentExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(status: ConsentStatus) {
    super(
      status === 'SUBSCRIBED'
        ? 'The subscriber has consented to this topic already.'
        : 'The consent waits for its confirmation; use resend to send the confirmation mail again.',
    );
  }
}

/** Confirmation mails go out at most once a minute and five times a day for one consent. */
export class ResendTooSoonError extends DomainError {
  override readonly code = 'rate-limited';

  constructor(readonly retryAfterSeconds: number) {
    super('The confirmation mail was sent too recently or too often.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { retryAfterSeconds: this.retryAfterSeconds };
  }
}
