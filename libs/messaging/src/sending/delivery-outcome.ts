import type { Recipient } from '#audience';
import {
  type BounceClass,
  classifyRefusal,
  CONSEQUENCES,
  GIVE_UP_AFTER_MS,
  nextAttemptAt,
} from '#deliverability';
import { describeError, redact, type SendOutcome, type SmtpReply } from '#platform';
import type { AmbiguousPolicy } from '../campaigns/campaign.js';
import { ContentCompileError, MergeTemplateError } from '../content/content.errors.js';
import { HeaderValueError } from '../content/mail/header-field.js';
import type { ClaimedDelivery, DeliveryState } from '../deliveries/delivery.js';

/** The result of one attempt, or of the decision against one. */
export interface DeliveryOutcome {
  readonly delivery: ClaimedDelivery;
  readonly state: Extract<DeliveryState, 'SENT' | 'DEFERRED' | 'FAILED' | 'AMBIGUOUS' | 'SKIPPED'>;
  /** Why it was skipped, or the class of the failure. */
  readonly reason: string | null;
  readonly lastError: string | null;
  /** For DEFERRED. */
  readonly nextAttemptAt: Date | null;
  /** For DEFERRED: since when it could have been tried; null where that has not changed, and where no try counts yet. */
  readonly dueSince: Date | null;
  /** It is tried again though it may have arrived. */
  readonly possibleDuplicate: boolean;
  /** The mail was on the wire, or on its way there. */
  readonly tried: boolean;
  /** The attempt does not count: the route failed before the message had a part in it. */
  readonly uncounted: boolean;
  /** Its id at the project's relay that took it. */
  readonly providerMessageId: string | null;
  /** The reply by which it was taken; of all else `lastError` is told. */
  readonly reply: string | null;
}

/** A relay's answer that did not take the mail. */
type Refused = Extract<SendOutcome, { readonly kind: 'permanent' | 'temporary' }>;

const RESEND_AFTER_MS = 60_000;
const ROUTE_RETRY_MS = 15_000;
const RECOMPOSE_AFTER_MS = 5 * 60_000;
const RECOMPOSE_WITHIN_MS = 4 * 3_600_000;
const TEMPLATE_PATIENCE_MS = 3_600_000;
const MAX_ERROR = 500;

/** The state machine's step after an attempt. `random` spreads retries and gives numbers in [0, 1). */
export function outcomeOf(
  delivery: ClaimedDelivery,
  result: SendOutcome,
  policy: AmbiguousPolicy,
  now: Date,
  random: () => number,
): DeliveryOutcome {
  return { ...stepAfter(delivery, result, policy, now, random), tried: true };
}

function stepAfter(
  delivery: ClaimedDelivery,
  result: SendOutcome,
  policy: AmbiguousPolicy,
  now: Date,
  random: () => number,
): DeliveryOutcome {
  switch (result.kind) {
    case 'accepted':
      return { ...ended(delivery, 'SENT', null, null), reply: boundedText(replyText(result.reply)) };
    case 'permanent':
      return ended(delivery, 'FAILED', classOf(result), replyText(result.reply));
    case 'temporary':
      return deferral(delivery, result, now, random);
    case 'route-unavailable':
      return {
        ...later(delivery, new Date(now.getTime() + ROUTE_RETRY_MS), result.detail),
        dueSince: null,
        uncounted: true,
      };
    case 'ambiguous':
      return unknownFate(delivery, policy, result.detail, now);
  }
}

/**
 * A sender died with the body on its way. Null: it is to be sent again now, with the same Message-ID. Where nothing in
 * doubt may be sent, what was ever in doubt is not: the sender that took it over may have died before it recorded that.
 */
export function outcomeOfInterruption(
  delivery: ClaimedDelivery,
  policy: AmbiguousPolicy,
): DeliveryOutcome | null {
  const isHeld = policy === 'HOLD' && (delivery.interrupted || delivery.possibleDuplicate);
  const isRepeated = delivery.interrupted && delivery.possibleDuplicate;
  if (!isHeld && !isRepeated) return null;
  return ended(delivery, 'AMBIGUOUS', 'no-reply', 'The sender stopped before the reply came.');
}

/** True for a mail that may have arrived already. */
export const isInDoubt = ({ interrupted, possibleDuplicate }: ClaimedDelivery): boolean =>
  interrupted || possibleDuplicate;

/**
 * It may have been handed to a relay that this sender cannot reach, and is handed to no other. While `waits`, it may come back;
 * nobody knows what became of a mail whose relay is gone.
 */
export function outcomeOfDoubt(
  {
    delivery,
    ambiguousPolicy,
  }: { readonly delivery: ClaimedDelivery; readonly ambiguousPolicy: AmbiguousPolicy },
  waits: boolean,
  now: Date,
): DeliveryOutcome {
  const interrupted = outcomeOfInterruption(delivery, ambiguousPolicy);
  if (interrupted !== null) return interrupted;
  const isOld = now.getTime() - delivery.dueSince.getTime() >= GIVE_UP_AFTER_MS;
  if (waits && !isOld) return later(delivery, new Date(now.getTime() + RESEND_AFTER_MS), null);
  return ended(
    delivery,
    'AMBIGUOUS',
    'no-reply',
    `Nothing more was heard of the relay ${delivery.relayKey ?? 'before'}.`,
  );
}

/** No relay free; keeps the due time. */
export function unassigned(delivery: ClaimedDelivery, now: Date): DeliveryOutcome {
  return { ...later(delivery, now, null), dueSince: null };
}

/** The outcome of a mail to a person that needs no mail; null: it is to be sent. */
export function outcomeWithoutMail(
  delivery: ClaimedDelivery,
  policy: AmbiguousPolicy,
  recipient: Pick<Recipient, 'obstacle'> | undefined,
): DeliveryOutcome | null {
  const interrupted = outcomeOfInterruption(delivery, policy);
  if (interrupted !== null) return interrupted;
  if (recipient === undefined) return skipped(delivery, 'erased');
  return recipient.obstacle === null ? null : skipped(delivery, recipient.obstacle);
}

/** It must not be sent, and why: `suppressed`, `unsubscribed`, `erased` … */
export function skipped(delivery: ClaimedDelivery, reason: string): DeliveryOutcome {
  return ended(delivery, 'SKIPPED', reason, null);
}

/** It cannot be sent yet. */
export function postponed(delivery: ClaimedDelivery, reason: string, until: Date): DeliveryOutcome {
  return { ...later(delivery, until, null), reason };
}

/** It may be sent, and others come before it. The time that it waits is not taken from its time for tries. */
export function held(delivery: ClaimedDelivery, reason: string, until: Date, now: Date): DeliveryOutcome {
  const waits = until.getTime() - (delivery.attempt === 0 ? delivery.dueSince : now).getTime();
  const dueSince = new Date(delivery.dueSince.getTime() + waits);
  return { ...postponed(delivery, reason, until), dueSince };
}

/** It must not leave as it is configured: without a signature that it needs, say. Nothing of it is sent. */
export function misconfigured(delivery: ClaimedDelivery, error: string): DeliveryOutcome {
  return ended(delivery, 'FAILED', 'config', error);
}

/** True for errors that only another content can mend. */
export const isContentFault = (error: unknown): error is Error =>
  error instanceof MergeTemplateError ||
  error instanceof ContentCompileError ||
  error instanceof HeaderValueError;

/**
 * The mail could not be made. Tried again, since the fault may be ours: after 5 min at first, then whenever it has waited
 * twice as long. Given up as any mail is, or within the hour where its content is the fault: what it makes of this person's
 * values stays as it is, but one of its bounds is time.
 */
export function notComposed(
  delivery: ClaimedDelivery,
  error: unknown,
  now: Date,
  random: () => number,
): DeliveryOutcome {
  const text = describeError(error);
  const waitedMs = now.getTime() - delivery.dueSince.getTime();
  const waitMs =
    Math.min(Math.max(waitedMs, RECOMPOSE_AFTER_MS), RECOMPOSE_WITHIN_MS) * (0.8 + 0.4 * random());
  const patienceMs = isContentFault(error) ? TEMPLATE_PATIENCE_MS : GIVE_UP_AFTER_MS;
  if (waitedMs + waitMs > patienceMs) return ended(delivery, 'FAILED', 'unknown', text);
  return { ...later(delivery, new Date(now.getTime() + waitMs), text), reason: 'unknown' };
}

function deferral(
  delivery: ClaimedDelivery,
  refusal: Refused,
  now: Date,
  random: () => number,
): DeliveryOutcome {
  const [reason, text] = [classOf(refusal), replyText(refusal.reply)];
  const next = nextAttemptAt(delivery.attempt + 1, delivery.dueSince, now, random);
  return next === null ? ended(delivery, 'FAILED', reason, text) : { ...later(delivery, next, text), reason };
}

/** A refusal before the relay has heard of the recipient is never charged to the recipient. */
function classOf({ reply, stage, kind }: Refused): BounceClass {
  if (stage === 'session') return 'network';
  const found = classifyRefusal(reply);
  if (stage !== 'mail' || CONSEQUENCES[found].address === 'keep') return found;
  return kind === 'permanent' ? 'sender' : 'network';
}

function unknownFate(
  delivery: ClaimedDelivery,
  policy: AmbiguousPolicy,
  detail: string,
  now: Date,
): DeliveryOutcome {
  if (policy === 'HOLD' || delivery.possibleDuplicate || delivery.interrupted) {
    return ended(delivery, 'AMBIGUOUS', 'no-reply', detail);
  }
  return { ...later(delivery, new Date(now.getTime() + RESEND_AFTER_MS), detail), possibleDuplicate: true };
}

function ended(
  delivery: ClaimedDelivery,
  state: DeliveryOutcome['state'],
  reason: string | null,
  error: string | null,
): DeliveryOutcome {
  return {
    delivery,
    state,
    reason,
    lastError: error === null ? null : boundedText(error),
    nextAttemptAt: null,
    dueSince: null,
    possibleDuplicate: delivery.possibleDuplicate || delivery.interrupted,
    tried: false,
    uncounted: false,
    providerMessageId: null,
    reply: null,
  };
}

function later(delivery: ClaimedDelivery, at: Date, error: string | null): DeliveryOutcome {
  return { ...ended(delivery, 'DEFERRED', null, error), nextAttemptAt: at, dueSince: delivery.dueSince };
}

const boundedText = (text: string): string => redact(text).slice(0, MAX_ERROR);

function replyText({ code, enhancedCode, text }: SmtpReply): string {
  return [code, enhancedCode, text].filter((part) => part !== null && part !== '').join(' ');
}
