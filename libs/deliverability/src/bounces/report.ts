import type { BounceClass } from './bounce-class.js';
import { type DeliveryStatus, deliveryStatusOf } from './delivery-status.js';
import { classifyRefusal, type Refusal, refusalOf } from './refusal.js';
import { fieldsOf, headerFieldsOf, type ReportParts, reportPartsOf } from './report-parts.js';
import { AUTOMATIC_REJECTION, CHALLENGE, SUBJECT_REASON } from './report-words.js';
import { showsDistrust } from './retry-schedule.js';
import { ownTextOf, reasonIn, textBounceOf, withoutGuesses } from './text-bounce.js';

/** A report on a mail. */
export type Report =
  | {
      readonly kind: 'bounce';
      readonly class: BounceClass;
      readonly refusal: Refusal;
      /** The address that failed, where the report names it; perhaps one that ours was forwarded to. */
      readonly recipient: string | null;
      readonly originalMessageId: string | null;
    }
  | { readonly kind: 'complaint'; readonly originalMessageId: string | null }
  | { readonly kind: 'nothing'; readonly why: Insignificance };

/** Why a mail to a return path changes nothing. */
export type Insignificance = 'unreadable' | 'delayed' | 'not-failed' | 'other-feedback' | 'no-report';

const MAX_MESSAGE_ID = 998;
const MAX_RECIPIENT = 320;

/**
 * Reads what came to a return path: a delivery status notification (RFC 3464) in which a recipient failed is a bounce,
 * a feedback report (RFC 5965) of the type `abuse` a complaint, and so are the formats without a part for machines that
 * are known. Everything else is nothing: delays, receipts, automatic replies, challenges, people's answers.
 * `from` is the envelope's sender where it is known.
 */
export async function readReport(raw: Uint8Array, from: string | null = null): Promise<Report> {
  const parts = await reportPartsOf(raw);
  if (parts === null) return { kind: 'nothing', why: 'unreadable' };
  if (parts.feedbackReport !== null) return feedback(parts, parts.feedbackReport);
  if (isChallenge(parts)) return { kind: 'nothing', why: 'no-report' };
  const status = statusOf(parts);
  if (status !== null) return notification(parts, status);
  if (isOldComplaint(parts)) return complaint(parts);
  const bounce = textBounceOf(parts, from === '');
  if (bounce === 'delayed') return { kind: 'nothing', why: 'delayed' };
  return bounce === null
    ? { kind: 'nothing', why: 'no-report' }
    : bounced(parts, bounce, parts.headers.get('x-failed-recipients') ?? null);
}

/** RFC 5965 §7.3: only `abuse` says that the reader did not want the mail. */
function feedback(parts: ReportParts, report: string): Report {
  const type = /^[a-z-]+/i.exec(fieldsOf(report).get('feedback-type') ?? '')?.[0]?.toLowerCase();
  return type === 'abuse' ? complaint(parts) : { kind: 'nothing', why: 'other-feedback' };
}

/** Boxbe's have the form of a report, with `Action: failed`. */
function isChallenge({ deliveryStatus, text }: ReportParts): boolean {
  return CHALLENGE.test(ownTextOf(text)) || (deliveryStatus !== null && CHALLENGE.test(deliveryStatus));
}

/** In a part of its own, or, where a server or a gateway made one part of them all, in the text. */
function statusOf({ deliveryStatus, text }: ReportParts): DeliveryStatus | null {
  if (deliveryStatus !== null) return deliveryStatusOf(deliveryStatus);
  const isInText = /^(?:final|original)-recipient:/im.test(text) && /^action:/im.test(text);
  return isInText ? deliveryStatusOf(text) : null;
}

function notification(parts: ReportParts, status: DeliveryStatus): Report {
  if (status.action !== 'failed') {
    return { kind: 'nothing', why: status.action === 'delayed' ? 'delayed' : 'not-failed' };
  }
  return bounced(parts, status.refusal, status.recipient);
}

function bounced(parts: ReportParts, said: Refusal, recipient: string | null): Report {
  const refusal = tellingRefusal(parts, said);
  return {
    kind: 'bounce',
    class: classifyRefusal(refusal),
    refusal,
    recipient: recipient === null ? null : recipient.slice(0, MAX_RECIPIENT),
    originalMessageId: originalMessageIdOf(parts),
  };
}

/** The refusal in the fields; if it is unknown, in the text beside them: the reason, all of it, the subject. */
function tellingRefusal({ headers, text }: ReportParts, said: Refusal): Refusal {
  const own = withoutGuesses(ownTextOf(text));
  const rejection = AUTOMATIC_REJECTION.exec(own)?.[1];
  const subject = SUBJECT_REASON.exec(headers.get('subject') ?? '')?.[1];
  const candidates = [
    ...(rejection === undefined ? [] : [{ ...said, ...refusalOf(rejection, null), code: said.code }]),
    said,
    ...[reasonIn(own), own, subject ?? ''].map((words) => readAlso(words, said)),
  ];
  return candidates.find((candidate) => classifyRefusal(candidate) !== 'unknown') ?? said;
}

function readAlso(words: string, { code, enhancedCode }: Refusal): Refusal {
  const read = refusalOf(words, enhancedCode);
  return { ...read, code: code === 0 ? read.code : code };
}

/** Outlook.com's Junk Mail Reporting Program before it took to ARF: the mail attached, and this subject. */
function isOldComplaint({ headers, returned }: ReportParts): boolean {
  return returned !== null && /^complaint about message from\b/i.test(headers.get('subject') ?? '');
}

function complaint(parts: ReportParts): Report {
  return { kind: 'complaint', originalMessageId: originalMessageIdOf(parts) };
}

/** Message-ID of the returned message; some servers write it into the text. */
function originalMessageIdOf({ returned, text }: ReportParts): string | null {
  const id =
    returned === null
      ? /^[\t >]{0,9}message-id:\s{0,9}(<[^\s<>]{1,900}>)/im.exec(text)?.[1]
      : headerFieldsOf(returned).get('message-id');
  return id === undefined ? null : id.slice(0, MAX_MESSAGE_ID);
}

/** The facts of a report that are kept: nothing that identifies the recipient. */
export interface ReportFacts {
  readonly kind: 'BOUNCE' | 'COMPLAINT';
  readonly bounceClass: BounceClass | null;
  readonly basicCode: number | null;
  readonly enhancedCode: string | null;
  readonly excerpt: string | null;
  /** True if the returned message is this delivery's; null without one. */
  readonly namesMessage: boolean | null;
  /** Its destination refuses the mail for who we are. Not kept, but told. */
  readonly isDistrust: boolean;
}

const MAX_EXCERPT = 300;
const ADDRESS = /[^\s<>"',;:()]+@[^\s<>"',;:()]+/g;
/** Shorter names are parts of ordinary words. */
const TELLING_NAME = 3;

/** The facts of a report on a delivery; on none yet, of what a provider reports by its own id. */
export function factsOf(
  report: Exclude<Report, { kind: 'nothing' }>,
  deliveryId: string | null,
): ReportFacts {
  const id = report.originalMessageId;
  const namesMessage = id === null ? null : id.toLowerCase().startsWith(`<${deliveryId}@`);
  if (report.kind === 'complaint') {
    return {
      kind: 'COMPLAINT',
      bounceClass: null,
      basicCode: null,
      enhancedCode: null,
      excerpt: null,
      namesMessage,
      isDistrust: false,
    };
  }
  const { code, enhancedCode, text } = report.refusal;
  return {
    kind: 'BOUNCE',
    bounceClass: report.class,
    basicCode: code === 0 ? null : code,
    enhancedCode,
    excerpt: excerptOf(text, report.recipient),
    namesMessage,
    isDistrust: showsDistrust(report.class, report.refusal),
  };
}

/** The words without addresses and without the name of the mailbox, which some servers write alone. */
function excerptOf(text: string, recipient: string | null): string | null {
  const name = recipient?.split('@')[0] ?? '';
  const withoutAddresses = text.replaceAll(ADDRESS, '[address]');
  const excerpt = name.length < TELLING_NAME ? withoutAddresses : without(withoutAddresses, name);
  return excerpt === '' ? null : excerpt.replaceAll('\0', '').slice(0, MAX_EXCERPT).toWellFormed();
}

function without(given: string, name: string): string {
  const lower = given.toLowerCase();
  // A few letters become two in lower case, which would shift positions.
  const text = lower.length === given.length ? given : lower;
  const sought = name.toLowerCase();
  let [kept, from] = ['', 0];
  for (let at = lower.indexOf(sought); at !== -1; at = lower.indexOf(sought, from)) {
    kept += `${text.slice(from, at)}[name]`;
    from = at + sought.length;
  }
  return kept + text.slice(from);
}
