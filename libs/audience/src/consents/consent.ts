export const CONSENT_STATUSES = ['PENDING_CONFIRMATION', 'SUBSCRIBED', 'UNSUBSCRIBED', 'EXPIRED'] as const;
export type ConsentStatus = (typeof CONSENT_STATUSES)[number];

/** How long the link of a confirmation mail is valid. */
export const CONFIRMATION_VALID_MS = 48 * 3_600_000;

/** One subscriber's consent to one topic. */
export interface Consent {
  readonly topicId: string;
  readonly status: ConsentStatus;
  /** When consent was given, whether or not it needs confirmation. */
  readonly grantedAt: Date | null;
  /** When the owner of the address confirmed; null on single opt-in. */
  readonly confirmedAt: Date | null;
  /** The last revocation; null while subscribed. */
  readonly revokedAt: Date | null;
  /** The end of the time for confirming; null unless pending or expired. */
  readonly tokenExpiresAt: Date | null;
  /** When mail became allowed; null unless subscribed. */
  readonly subscribedAt: Date | null;
}

/** The settings of a topic that consents depend on. */
export interface ConsentTopic {
  readonly id: string;
  readonly doubleOptInEnabled: boolean;
}

type Times = Omit<Consent, 'topicId' | 'status'>;
type State = Omit<Consent, 'topicId'>;

const NEVER_GIVEN: Times = {
  grantedAt: null,
  confirmedAt: null,
  revokedAt: null,
  tokenExpiresAt: null,
  subscribedAt: null,
};

interface Rule {
  /** The previous status; null: never given. */
  readonly from: readonly (ConsentStatus | null)[];
  readonly to: (before: Times & { readonly status?: ConsentStatus }, at: Date, doubleOptIn: boolean) => State;
}

/** The actions on a consent. A pending one is EXPIRED once its 48 hours are over. */
const RULES = {
  /** The person consents, perhaps again after a revocation. */
  grant: { from: [null, 'UNSUBSCRIBED', 'EXPIRED'], to: granted },
  /** An import or an automation grants it; neither lifts a no. */
  offer: { from: [null, 'EXPIRED'], to: granted },
  /** The person consents by a link in a mail, which proves the address like the link of a confirmation mail. */
  join: { from: [null, 'UNSUBSCRIBED', 'EXPIRED', 'PENDING_CONFIRMATION'], to: joined },
  confirm: {
    from: ['PENDING_CONFIRMATION'],
    to: (before, at) => ({ ...subscribed(before, at), confirmedAt: at }),
  },
  /** A new confirmation mail with a link that is valid for another 48 h. */
  askAgain: { from: ['PENDING_CONFIRMATION', 'EXPIRED'], to: pending },
  revoke: {
    from: ['PENDING_CONFIRMATION', 'SUBSCRIBED'],
    to: (before, at) => ({
      ...before,
      status: 'UNSUBSCRIBED',
      revokedAt: at,
      tokenExpiresAt: null,
      subscribedAt: null,
    }),
  },
  /** Only expires what was not confirmed in time. */
  expire: { from: [], to: pending },
} as const satisfies Record<string, Rule>;

export type ConsentAction = keyof typeof RULES;

/** The outcome of an action on a consent. */
export interface ConsentOutcome {
  /** Whether the consent expired before the action. */
  readonly hasExpired: boolean;
  /** Whether the action was possible; otherwise the consent did not change. */
  readonly isDone: boolean;
  /** The status before the action, after any expiry. */
  readonly from: ConsentStatus | null;
  /** The consent now; null: never given. */
  readonly consent: Consent | null;
}

/** Applies `action` to the consent to a topic; `before` is null when consent was never given. */
export function act(
  before: Consent | null,
  action: ConsentAction,
  { id, doubleOptInEnabled }: ConsentTopic,
  at: Date,
): ConsentOutcome {
  const current = before === null ? null : { ...before, status: statusAt(before, at) };
  const from = current?.status ?? null;
  const hasExpired = from !== (before?.status ?? null);
  const { from: possible, to }: Rule = RULES[action];
  if (!possible.includes(from)) return { hasExpired, isDone: false, from, consent: current };
  const consent = { ...to(current ?? NEVER_GIVEN, at, doubleOptInEnabled), topicId: id };
  return { hasExpired, isDone: true, from, consent };
}

/**
 * Undoes a revocation: the consent is what it was `before`. Null where it is not the same any more, because it was granted
 * or revoked again since, or its topic is gone.
 */
export function restored(
  current: Consent | undefined,
  before: Consent,
  revokedAt: Date,
): ConsentOutcome | null {
  if (current?.status !== 'UNSUBSCRIBED' || current.revokedAt?.getTime() !== revokedAt.getTime()) return null;
  return { hasExpired: false, isDone: true, from: 'UNSUBSCRIBED', consent: before };
}

/** The status at a time: one not confirmed in time is expired, whether or not that is stored yet. */
export function statusAt({ status, tokenExpiresAt }: Consent, at: Date): ConsentStatus {
  const isOver = status === 'PENDING_CONFIRMATION' && tokenExpiresAt !== null && tokenExpiresAt <= at;
  return isOver ? 'EXPIRED' : status;
}

/** Whether the consent waits for its confirmation. */
export function isUnconfirmed({ status }: Consent): boolean {
  return status === 'PENDING_CONFIRMATION' || status === 'EXPIRED';
}

function granted(before: Times, at: Date, doubleOptIn: boolean): State {
  const next = doubleOptIn ? pending(before, at) : subscribed(before, at);
  return { ...next, grantedAt: at, confirmedAt: null };
}

function joined(before: Times & { readonly status?: ConsentStatus }, at: Date, doubleOptIn: boolean): State {
  if (before.status === 'PENDING_CONFIRMATION') return RULES.confirm.to(before, at);
  return { ...subscribed(before, at), grantedAt: at, confirmedAt: doubleOptIn ? at : null };
}

function subscribed(before: Times, at: Date): State {
  return { ...before, status: 'SUBSCRIBED', revokedAt: null, tokenExpiresAt: null, subscribedAt: at };
}

function pending(before: Times, at: Date): State {
  const tokenExpiresAt = new Date(at.getTime() + CONFIRMATION_VALID_MS);
  return { ...before, status: 'PENDING_CONFIRMATION', tokenExpiresAt, subscribedAt: null };
}
