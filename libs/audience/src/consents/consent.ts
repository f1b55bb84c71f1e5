import { InvalidStateError } from '#kernel';
import { ConsentExistsError } from './consent.errors.js';

export const CONSENT_STATUSES = ['PENDING_CONFIRMATION', 'SUBSCRIBED', 'UNSUBSCRIBED', 'EXPIRED'] as const;
export type ConsentStatus = (typeof CONSENT_STATUSES)[number];

/** How long the link of a confirmation mail is good. */
export const CONFIRMATION_VALID_MS = 48 * 3_600_000;

export interface ConsentState {
  readonly status: ConsentStatus;
  /** When it was given, whether or not it had to be confirmed. */
  readonly grantedAt: Date | null;
  /** When the owner of the address confirmed; null on single opt-in. */
  readonly confirmedAt: Date | null;
  /** The last revocation; null while subscribed. */
  readonly revokedAt: Date | null;
  /** Until when it can be confirmed; null unless pending or expired. */
  readonly tokenExpiresAt: Date | null;
  /** Since when mail may be sent; null unless subscribed. */
  readonly subscribedAt: Date | null;
}

export interface ConsentChange {
  readonly from: ConsentStatus | null;
  readonly to: ConsentStatus;
}

/**
 * One subscriber's consent to one topic.
 *
 *   (none) | UNSUBSCRIBED | EXPIRED ─grant→ SUBSCRIBED, or PENDING_CONFIRMATION on a double opt-in topic
 *   (none) | UNSUBSCRIBED | EXPIRED | PENDING_CONFIRMATION ─join→ SUBSCRIBED
 *   PENDING_CONFIRMATION ─confirm→ SUBSCRIBED ─revoke→ UNSUBSCRIBED
 *   PENDING_CONFIRMATION ─revoke→ UNSUBSCRIBED, ─48 h→ EXPIRED ─askAgain→ PENDING_CONFIRMATION
 */
export class Consent {
  #state: ConsentState | null;
  readonly #changes: ConsentChange[] = [];

  /** `state` is null for a consent that was never given. */
  constructor(
    readonly topicId: string,
    state: ConsentState | null,
  ) {
    this.#state = state;
  }

  get state(): ConsentState | null {
    return this.#state;
  }

  get status(): ConsentStatus | null {
    return this.#state?.status ?? null;
  }

  /** Whether it stands or waits for its confirmation. */
  get isGranted(): boolean {
    return this.status === 'SUBSCRIBED' || this.status === 'PENDING_CONFIRMATION';
  }

  /** The changes since it was loaded, for the consent record. */
  get changes(): readonly ConsentChange[] {
    return this.#changes;
  }

  /** Throws ConsentExistsError when it stands or waits for its confirmation. */
  grant(doubleOptIn: boolean, at: Date): void {
    this.expire(at);
    const { status } = this;
    if (status === 'SUBSCRIBED' || status === 'PENDING_CONFIRMATION') throw new ConsentExistsError(status);
    this.#become({
      status: doubleOptIn ? 'PENDING_CONFIRMATION' : 'SUBSCRIBED',
      grantedAt: at,
      confirmedAt: null,
      revokedAt: doubleOptIn ? (this.#state?.revokedAt ?? null) : null,
      tokenExpiresAt: doubleOptIn ? expiryFrom(at) : null,
      subscribedAt: doubleOptIn ? null : at,
    });
  }

  /**
   * The owner of the address gives it by a link that came with a mail. That link has proved what the one of a
   * confirmation mail proves, so there is nothing left to confirm. False when it stands.
   */
  join(doubleOptIn: boolean, at: Date): boolean {
    if (this.confirm(at)) return true;
    if (this.status === 'SUBSCRIBED') return false;
    this.#become({
      status: 'SUBSCRIBED',
      grantedAt: at,
      confirmedAt: doubleOptIn ? at : null,
      revokedAt: null,
      tokenExpiresAt: null,
      subscribedAt: at,
    });
    return true;
  }

  /** The owner of the address says yes. False when nothing waits for it. */
  confirm(at: Date): boolean {
    this.expire(at);
    if (this.#state?.status !== 'PENDING_CONFIRMATION') return false;
    this.#become({
      ...this.#state,
      status: 'SUBSCRIBED',
      confirmedAt: at,
      revokedAt: null,
      tokenExpiresAt: null,
      subscribedAt: at,
    });
    return true;
  }

  /** A new mail asks for the confirmation, with a link that is good for another 48 h. Throws InvalidStateError unless pending. */
  resend(at: Date): void {
    this.expire(at);
    if (this.#state?.status !== 'PENDING_CONFIRMATION') {
      throw new InvalidStateError(
        'Only a pending consent waits for a confirmation mail.',
        this.status ?? 'UNSUBSCRIBED',
        ['PENDING_CONFIRMATION'],
      );
    }
    this.#state = { ...this.#state, tokenExpiresAt: expiryFrom(at) };
  }

  /** The owner of the address asks for a new mail, also after the old one's link ran out. False when there is nothing to confirm. */
  askAgain(at: Date): boolean {
    this.expire(at);
    if (this.#state === null || !this.isUnconfirmed) return false;
    const pending: ConsentState = {
      ...this.#state,
      status: 'PENDING_CONFIRMATION',
      tokenExpiresAt: expiryFrom(at),
    };
    if (this.#state.status === 'EXPIRED') this.#become(pending);
    else this.#state = pending;
    return true;
  }

  /** Whether it was given and neither confirmed nor revoked since. */
  get isUnconfirmed(): boolean {
    return this.status === 'PENDING_CONFIRMATION' || this.status === 'EXPIRED';
  }

  /** Takes it back. False when there is nothing to take back. */
  revoke(at: Date): boolean {
    this.expire(at);
    if (this.#state?.status !== 'SUBSCRIBED' && this.#state?.status !== 'PENDING_CONFIRMATION') return false;
    this.#become({
      ...this.#state,
      status: 'UNSUBSCRIBED',
      revokedAt: at,
      tokenExpiresAt: null,
      subscribedAt: null,
    });
    return true;
  }

  /** Lets it run out when its time is over. False when it does not. */
  expire(at: Date): boolean {
    if (this.#state?.status !== 'PENDING_CONFIRMATION') return false;
    if (this.#state.tokenExpiresAt === null || this.#state.tokenExpiresAt > at) return false;
    this.#become({ ...this.#state, status: 'EXPIRED' });
    return true;
  }

  #become(next: ConsentState): void {
    this.#changes.push({ from: this.status, to: next.status });
    this.#state = next;
  }
}

function expiryFrom(at: Date): Date {
  return new Date(at.getTime() + CONFIRMATION_VALID_MS);
}
