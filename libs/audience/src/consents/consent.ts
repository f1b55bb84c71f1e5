import { boundedErrors, DomainError } from '#kernel';

export const CONSENT_STATUSES = ['PENDING_CONFIRMATION', 'SUBSCRIBED', 'UNSUBSCRIBED', 'EXPIRED'] as const;
export type ConsentStatus = (typeof CONSENT_STATUSES)[number];

/** Validity of the link in a confirmation mail. */
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

/** The address left topics that it would be subscribed to, and did not ask to come back. */
export class UnsubscribedError extends DomainError {
  override readonly code = 'unsubscribed';

  constructor(topicKeys: readonly string[]) {
    super(`The address unsubscribed from ${topicKeys.join(', ')}.`);
  }
}

/** Nobody who is subscribed to the topic has the address. */
export class NotSubscribedError extends DomainError {
  override readonly code = 'not-subscribed';

  /** `recipients` maps the paths of the addresses (`to`) to messages. */
  constructor(readonly recipients: Readonly<Record<string, string>>) {
    super('The address is not subscribed to the topic.');
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { recipients: boundedErrors(this.recipients) };
  }
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
  /**
   * The person has another address. Its owner is asked about what waits for a confirmation, and about what the old address
   * confirmed (`doubleOptIn`); all else stays.
   */
  move: { from: CONSENT_STATUSES, to: moved },
  /** Only expires what was not confirmed in time. */
  expire: { from: [], to: pending },
} as const satisfies Record<string, Rule>;

export type ConsentAction = keyof typeof RULES;

/** The outcome of an action on a consent. */
export interface ConsentOutcome {
  /** The consent expired before the action. */
  readonly hasExpired: boolean;
  /** The action was possible; otherwise the consent did not change. */
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
 * Undoes a revocation: the consent is as it was `before`. Null where it is not the same any more, because it was granted or
 * revoked again since, or its topic is gone.
 */
export function restored(
  current: Consent | undefined,
  before: Consent,
  revokedAt: Date,
): ConsentOutcome | null {
  if (current?.status !== 'UNSUBSCRIBED' || current.revokedAt?.getTime() !== revokedAt.getTime()) return null;
  return { hasExpired: false, isDone: true, from: 'UNSUBSCRIBED', consent: before };
}

/** The status at a time: a consent not confirmed in time is expired, whether or not that is stored yet. */
export function statusAt({ status, tokenExpiresAt }: Consent, at: Date): ConsentStatus {
  const isOver = status === 'PENDING_CONFIRMATION' && tokenExpiresAt !== null && tokenExpiresAt <= at;
  return isOver ? 'EXPIRED' : status;
}

/** True while the consent waits for its confirmation. */
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

function moved(before: Times & { readonly status?: ConsentStatus }, at: Date, doubleOptIn: boolean): State {
  const { status = 'EXPIRED' } = before;
  const isAsked = status === 'PENDING_CONFIRMATION' || (status === 'SUBSCRIBED' && doubleOptIn);
  return isAsked ? { ...pending(before, at), confirmedAt: null } : { ...before, status };
}

function subscribed(before: Times, at: Date): State {
  return { ...before, status: 'SUBSCRIBED', revokedAt: null, tokenExpiresAt: null, subscribedAt: at };
}

function pending(before: Times, at: Date): State {
  const tokenExpiresAt = new Date(at.getTime() + CONFIRMATION_VALID_MS);
  return { ...before, status: 'PENDING_CONFIRMATION', tokenExpiresAt, subscribedAt: null };
}

export const SUBSCRIBER_STATUSES = [
  'SUPPRESSED',
  'COMPLAINED',
  'BOUNCED',
  'ACTIVE',
  'PENDING_CONFIRMATION',
  'UNSUBSCRIBED',
] as const;
export type SubscriberStatus = (typeof SUBSCRIBER_STATUSES)[number];

export const SUPPRESSION_REASONS = [
  'GLOBAL_UNSUBSCRIBE',
  'SPAM_COMPLAINT',
  'HARD_BOUNCE',
  'BLOCKED',
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** The status of a subscriber with a suppressed address, by reason. */
export const STATUS_OF_SUPPRESSED: Readonly<Record<SuppressionReason, SubscriberStatus>> = {
  GLOBAL_UNSUBSCRIBE: 'SUPPRESSED',
  SPAM_COMPLAINT: 'COMPLAINED',
  HARD_BOUNCE: 'BOUNCED',
  BLOCKED: 'SUPPRESSED',
};

/** The status of other subscribers, by the first of these consents that they have. */
export const STATUS_BY_CONSENT: readonly (readonly [ConsentStatus, SubscriberStatus])[] = [
  ['SUBSCRIBED', 'ACTIVE'],
  ['PENDING_CONFIRMATION', 'PENDING_CONFIRMATION'],
];

/** The status of subscribers with neither. */
export const STATUS_WITHOUT_CONSENT: SubscriberStatus = 'UNSUBSCRIBED';

/** Derives a subscriber's status from the suppression of the address, if any, and from the consents. */
export function subscriberStatus(
  suppression: SuppressionReason | null,
  consents: readonly ConsentStatus[],
): SubscriberStatus {
  if (suppression !== null) return STATUS_OF_SUPPRESSED[suppression];
  const best = STATUS_BY_CONSENT.find(([consent]) => consents.includes(consent));
  return best?.[1] ?? STATUS_WITHOUT_CONSENT;
}

/** The first consents and status of new subscribers, whose address is not suppressed. */
export interface FirstConsents {
  readonly outcomes: readonly (ConsentOutcome & { readonly topicId: string })[];
  readonly consents: readonly Consent[];
  readonly status: SubscriberStatus;
}

export function firstConsents(topics: readonly ConsentTopic[], at: Date): FirstConsents {
  const outcomes = topics.map((topic) => ({ topicId: topic.id, ...act(null, 'grant', topic, at) }));
  const consents = outcomes.flatMap(({ consent }) => consent ?? []);
  const statuses = consents.map(({ status }) => status);
  return { outcomes, consents, status: subscriberStatus(null, statuses) };
}

export const CONSENT_ACTORS = [
  'API_KEY',
  'SUBSCRIBER_PAGE',
  'IMPORT',
  'ONE_CLICK',
  'COMPLAINT',
  'BOUNCE',
  'OPERATOR',
  'EXPIRY',
  'AUTOMATION',
] as const;
export type ConsentActor = (typeof CONSENT_ACTORS)[number];

/** The language and version of the texts that a person agreed to; version null: not the project's own texts. */
export interface ConsentWording {
  readonly locale: string;
  readonly version: number | null;
}

/** The proof of a change in the consent record, to show to a regulator (GDPR Art. 7 (1)). */
export interface ConsentProof {
  readonly actor: ConsentActor;
  /** The API key, confirmation or delivery through which the actor acted. */
  readonly actorId: string | null;
  readonly source: string | null;
  readonly sourceUrl: string | null;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  readonly consentText: string | null;
  readonly formVersion: string | null;
  /** The Message-ID of the mail with the link that the person used. */
  readonly messageId: string | null;
  /** The wording of the page on which the person agreed; null where that was not a page of ours. */
  readonly wording: ConsentWording | null;
}

/** A caller's proof that an address is a person's. */
export interface AddressProof {
  /** Way in which the person confirmed it, in the caller's words. */
  readonly source: string;
  readonly confirmedAt: Date;
}

/** A person's change of address, as the consent record has it. */
export interface AddressChange {
  readonly from: string;
  readonly to: string;
  /** Null: the caller has none. */
  readonly emailConfirmed: AddressProof | null;
}

/** The time and proof of a change. */
export interface ChangeContext {
  readonly at: Date;
  readonly proof: ConsentProof;
  /** The change of the person's address that it is part of: recorded also for consents that stay as they are. */
  readonly addressChange?: AddressChange | null;
  /** When its confirmation mails are due; default: at once. */
  readonly mailsDueAt?: Date;
}

/** The proof as an actor gives it; missing parts are recorded as unknown. */
export type ConsentDetails = {
  readonly [Field in Exclude<keyof ConsentProof, 'actor' | 'actorId'>]?: ConsentProof[Field] | undefined;
};

/** Completes the proof of an actor. */
export function consentProof(
  actor: ConsentActor,
  actorId: string | null,
  details: ConsentDetails = {},
): ConsentProof {
  return {
    actor,
    actorId,
    source: details.source ?? null,
    sourceUrl: details.sourceUrl ?? null,
    ipAddress: details.ipAddress ?? null,
    userAgent: details.userAgent ?? null,
    consentText: details.consentText ?? null,
    formVersion: details.formVersion ?? null,
    messageId: details.messageId ?? null,
    wording: details.wording ?? null,
  };
}
