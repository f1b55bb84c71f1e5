import { anyOf, UNKNOWN_MAILBOX } from './bounce-table.js';
import { type Refusal, refusalOf } from './refusal.js';
import type { ReportParts } from './report-parts.js';
import {
  AUTOMATIC_REPLY,
  DAEMON,
  DELAY,
  FAILURE,
  FAILURE_ABROAD,
  GUESS,
  LIST_REFUSAL,
  LIST_SERVER,
  RECIPIENT,
  RETURNED,
  SERVER_REPLY,
  STILL_TRYING,
  TRANSLATED_REPLY,
} from './report-words.js';

/** A paragraph of QSBMF, the bounce format of qmail, for one recipient. */
const QSBMF_RECIPIENT = /^<[^>\n]{1,320}>:[ \t]{0,9}\n?([\s\S]{0,2000})$/m;
const CODE = /\b5\d\d[ -]|\b5\.\d{1,3}\.\d{1,3}\b/;
/** A code, or an address. */
const TECHNICAL = anyOf(CODE, /[\w.+-]{1,64}@[\w-]{1,63}\.\w/);
const IS_REPORT = /^\s{0,9}multipart\/report\b.{0,200}\breport-type=["']?delivery-status/is;
const ANSWER = /^(?:re|aw|fwd?|wg|tr|rv|sv|antw):/i;
/** As much of a text as tells what it is. */
const MAX_OWN_TEXT = 4_000;
/** A daemon comes to the point in its first line, people do not. */
const MAX_OPENING = 200;

/** The refusal in a bounce without a part for machines: qmail's format, Exim's old one, and free text of daemons. */
export function textBounceOf(parts: ReportParts, isNobodys: boolean): Refusal | 'delayed' | null {
  const { headers } = parts;
  const own = ownTextOf(parts.text);
  if (/^\s{0,40}Hi\. (?:This is|I'm) the/.test(own)) return qsbmf(own);
  const subject = headers.get('subject') ?? '';
  if (!headers.has('x-failed-recipients') && !isBounce(parts, isNobodys, subject, own)) return null;
  if (STILL_TRYING.test(own) || (DELAY.test(subject) && !tellsOfEnd(subject, own))) return 'delayed';
  return failureOf(reasonIn(withoutGuesses(own)));
}

/** The text before the mail that is quoted in it, without Sendmail's own words for a code that the server gave. */
export function ownTextOf(text: string): string {
  const start = RETURNED.exec(text)?.index;
  const own = (start === undefined || start === 0 ? text : text.slice(0, start)).slice(0, MAX_OWN_TEXT);
  if (!SERVER_REPLY.test(own)) return own;
  return own
    .split('\n')
    .filter((line) => !TRANSLATED_REPLY.test(line))
    .join('\n');
}

/** Without the sentences that only guess. */
export function withoutGuesses(text: string): string {
  return text
    .split(/(?<=[.!?:]\s)|(?<=\n)/)
    .filter((sentence) => !GUESS.test(sentence) || TECHNICAL.test(sentence))
    .join('');
}

/** The part about the recipient, without an introduction. */
export function reasonIn(text: string): string {
  const found = RECIPIENT.exec(text);
  return (found === null ? text : text.slice(found.index)).trim();
}

/**
 * A list server's refusal; a daemon's mail, or one from the empty sender (RFC 5321 §4.5.5), that says so in its subject
 * or its text; anybody else's only when both do, and it names an address.
 */
function isBounce(parts: ReportParts, isNobodys: boolean, subject: string, own: string): boolean {
  if (AUTOMATIC_REPLY.test(subject)) return false;
  const { headers } = parts;
  const from = headers.get('from') ?? '';
  if (LIST_SERVER.test(from) && (LIST_REFUSAL.test(subject) || LIST_REFUSAL.test(own))) return true;
  const isFromNobody = isNobodys || /<>/.test(from) || headers.get('return-path')?.trim() === '<>';
  const isReport = IS_REPORT.test(headers.get('content-type') ?? '');
  if (isReport || (DAEMON.test(from) && isDaemons(parts, isFromNobody, subject, own)))
    return saysFailed(subject) || saysFailed(own) || DELAY.test(subject) || UNKNOWN_MAILBOX.test(own);
  if (isFromNobody && !/^\s{0,9}auto-replied/i.test(headers.get('auto-submitted') ?? ''))
    return saysFailed(subject) || saysFailed(own) || DELAY.test(subject);
  return !ANSWER.test(subject) && saysFailed(subject) && saysFailed(own) && TECHNICAL.test(own);
}

/** People write under the names of daemons too: about a quota, say, without a code, an address or the mail itself. */
function isDaemons(
  { text, returned }: ReportParts,
  isFromNobody: boolean,
  subject: string,
  own: string,
): boolean {
  if (ANSWER.test(subject)) return CODE.test(own);
  if (isFromNobody || returned !== null || own !== text || CODE.test(own)) return true;
  const opening = own.trimStart().slice(0, MAX_OPENING).split('\n', 1)[0] ?? '';
  const isNamed =
    saysFailed(subject) || DELAY.test(subject) || saysFailed(opening) || UNKNOWN_MAILBOX.test(own);
  return isNamed && TECHNICAL.test(own);
}

function tellsOfEnd(subject: string, own: string): boolean {
  return saysFailed(subject) || saysFailed(own) || UNKNOWN_MAILBOX.test(own);
}

function saysFailed(text: string): boolean {
  return FAILURE.test(text) || FAILURE_ABROAD.test(text);
}

/** The qmail-send Bounce Message Format: paragraphs, of which those of recipients begin with their address. */
function qsbmf(text: string): Refusal | null {
  for (const paragraph of text.split(/\r?\n[\t ]{0,99}\r?\n/, 50)) {
    const reason = QSBMF_RECIPIENT.exec(paragraph.trim())?.[1];
    if (reason !== undefined) return failureOf(reason.trim());
  }
  return failureOf(reasonIn(text));
}

/** These reports are of failures, so that without a code the refusal is a permanent one. */
function failureOf(words: string): Refusal {
  const refusal = refusalOf(words, null);
  return refusal.code === 0 && refusal.enhancedCode === null ? { ...refusal, code: 550 } : refusal;
}
