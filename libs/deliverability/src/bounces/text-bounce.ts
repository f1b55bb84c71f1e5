import type { Refusal } from './bounce-class.js';
import { refusalOf } from './refusal-text.js';
import type { ReportParts } from './report-parts.js';

const DAEMON = /mailer-?daemon|postmaster|mail delivery|mdaemon|mail administrator|\bsystem administrator/i;
const FAILURE =
  /undeliver|returned mail|failure notice|delivery (?:status notification \(failure|failure|failed|has failed|error)|mail delivery (?:failed|failure|error)|mail (?:system )?error|could not be delivered|nondeliverable|non-delivery|rejected:|unzustellbar|non remis|mancato recapito|no se puede entregar/i;
const DELAY = /\bdelay|\bwarning\b|\bwill be retried\b|\bstill being retried\b/i;

/** A paragraph of QSBMF, the bounce format of qmail, for one recipient. */
const QSBMF_RECIPIENT = /^<[^>\n]{1,320}>:\s*\n?([\s\S]{0,2000})$/;
/** Where the returned message begins, in reports that carry it in their own text. */
const RETURNED =
  /^(?:--- (?:Below this line|Enclosed)|-{2,} ?This is a copy|-{3,} ?(?:Original message|Returned message|The header)|-----Original Message|Received: |Return-Path: )/im;
const EXIM_FAILED =
  /(?:address\(es\)|addresses?) failed:\s*\n([\s\S]{1,4000})|could not be delivered to[^:]{0,200}:\s*\n([\s\S]{1,4000})/i;

/** What a bounce says that has no part for machines: qmail's format, Exim's old one, and whatever a daemon writes. */
export function textBounceOf({ headers, text }: ReportParts): Refusal | 'delayed' | null {
  const own = ownTextOf(text);
  if (/^\s*Hi\. (?:This is|I'm) the/.test(own)) return qsbmf(own);
  const subject = headers.get('subject') ?? '';
  const isFromDaemon = DAEMON.test(headers.get('from') ?? '') || headers.get('return-path')?.trim() === '<>';
  if (headers.has('x-failed-recipients'))
    return DELAY.test(subject) ? 'delayed' : failureOf(afterIntroduction(own));
  if (!isFromDaemon || !(FAILURE.test(subject) || DELAY.test(subject))) return null;
  if (DELAY.test(subject) && !/\bfail/i.test(subject)) return 'delayed';
  return failureOf(afterIntroduction(own));
}

/** The text before the mail that is quoted in it. */
function ownTextOf(text: string): string {
  const start = RETURNED.exec(text)?.index;
  return start === undefined || start === 0 ? text : text.slice(0, start);
}

/** The qmail-send Bounce Message Format: paragraphs, of which those of recipients begin with their address. */
function qsbmf(text: string): Refusal | null {
  for (const paragraph of text.split(/\r?\n[\t ]*\r?\n/, 50)) {
    const reason = QSBMF_RECIPIENT.exec(paragraph.trim())?.[1];
    if (reason !== undefined) return failureOf(reason.trim());
  }
  return null;
}

/** These reports are of failures, so that without a code the refusal is a permanent one. */
function failureOf(words: string): Refusal {
  const refusal = refusalOf(words, null);
  return refusal.code === 0 && refusal.enhancedCode === null ? { ...refusal, code: 550 } : refusal;
}

function afterIntroduction(text: string): string {
  const found = EXIM_FAILED.exec(text);
  return (found?.[1] ?? found?.[2] ?? text).trim();
}
