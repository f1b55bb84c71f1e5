import { MergeTemplateError } from '../content/content.errors.js';
import type { Header } from '../content/mail/header-field.js';
import { requiredDataIn } from '../content/merge/merge-review.js';
import { compilePlainTemplate } from '../content/merge/merge-template.js';
import { SAMPLE_VALUES } from '../content/merge/merge-values.js';

export const MOST_HEADERS = 20;
/** Characters of a value; a word of it has at most as many as a line holds beside its name (RFC 5322 §2.1.1). */
export const LONGEST_HEADER = 2_000;
const LONGEST_WORD = 900;

/** Names that are for the message's sender to set; `X-` ones but for those that systems on the way read. */
const CUSTOM = /^X-[A-Za-z0-9][\w.-]{0,75}$/i;
const THREADING = ['references', 'in-reply-to'];
const ALLOWED = 'must be a header X-…, References or In-Reply-To';

/** Beginnings of names, in lower case, that Mailwright, a relay or a mailbox provider acts on or sets, and whose they are. */
const TAKEN: readonly (readonly [beginning: string, owner: string])[] = [
  ['x-mailwright-', 'Mailwright'],
  ['x-ses-', 'Amazon SES'],
  ['x-pm-', 'Postmark'],
  ['x-smtpapi', 'SendGrid'],
  ['x-sg-', 'SendGrid'],
  ['x-mailgun-', 'Mailgun'],
  ['x-mailin-', 'Brevo'],
  ['x-sib-', 'Brevo'],
  ['x-mc-', 'Mailchimp'],
  ['x-mj-', 'Mailjet'],
  ['x-msys-', 'SparkPost'],
  ['x-tm-', 'relays'],
  ['x-google-', 'Google'],
  ['x-gm-', 'Google'],
  ['x-ms-exchange-', 'Microsoft'],
  ['x-microsoft-', 'Microsoft'],
  ['x-forefront-', 'Microsoft'],
  ['x-spam', 'spam filters'],
  ['x-virus', 'virus scanners'],
  ['x-rspamd-', 'spam filters'],
  ['x-envelope-', 'mail servers'],
  ['x-original-', 'mail servers'],
  ['x-originating-', 'mail servers'],
  ['x-delivered-to', 'mail servers'],
  ['x-received', 'mail servers'],
  ['x-authentication-', 'mail servers'],
  ['x-dkim-', 'signers'],
];

/**
 * The header fields that a client gives a message, in their order, or every fault by its path, `headers["X-Foo"]`. Values are as
 * they go out: merge tags are filled in before.
 */
export function readMessageHeaders(
  given: Readonly<Record<string, string>>,
): { readonly headers: readonly Header[] } | { readonly errors: Readonly<Record<string, string>> } {
  const entries = Object.entries(given);
  if (entries.length > MOST_HEADERS)
    return { errors: { headers: `must be ${MOST_HEADERS} headers at most` } };
  const errors: Record<string, string> = {};
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const key = name.toLowerCase();
    const fault = nameFault(key) ?? (seen.has(key) ? 'is given twice' : valueFault(key, value));
    if (fault !== null) errors[`headers["${name.replaceAll(/\p{Cc}/gu, ' ')}"]`] = fault;
    seen.add(key);
  }
  return Object.keys(errors).length > 0 ? { errors } : { headers: entries };
}

/** Headers with their data filled in, the faults of theirs by path, and the data that they need. */
interface FilledHeaders {
  readonly headers: Readonly<Record<string, string>>;
  readonly faults: Readonly<Record<string, string>>;
  readonly requiredData: readonly string[];
}

/** Fills in the merge tags of a client's headers, which may show `data` alone, and checks what comes of it. */
export function filledHeaders(
  given: Readonly<Record<string, string>>,
  data: Readonly<Record<string, unknown>>,
): FilledHeaders {
  const headers: Record<string, string> = {};
  const faults: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const template = plainTemplateOf(value);
    if (template?.variables.every((variable) => variable.startsWith('data.')) === true)
      headers[name] = template.render({ ...SAMPLE_VALUES, data });
    else faults[`headers["${name}"]`] = 'may show {{ data.… }}, and nothing else';
  }
  if (Object.keys(faults).length > 0) return { headers, faults, requiredData: [] };
  const read = readMessageHeaders(headers);
  const requiredData = requiredDataIn(Object.values(given));
  return { headers, faults: 'errors' in read ? read.errors : {}, requiredData };
}

/** True of a subject that says nothing once the data is filled in; one that shows more than `data`, or has logic, counts as one that does. */
export function isBlankWith(data: Readonly<Record<string, unknown>>, subject: string): boolean {
  const template = plainTemplateOf(subject);
  return (
    template?.variables.every((variable) => variable.startsWith('data.')) === true &&
    template.render({ ...SAMPLE_VALUES, data }).trim() === ''
  );
}

/** Null where its merge tags have logic, or cannot be read. */
function plainTemplateOf(value: string) {
  try {
    return compilePlainTemplate(value, 'header');
  } catch (error) {
    if (error instanceof MergeTemplateError) return null;
    throw error;
  }
}

function nameFault(key: string): string | null {
  if (THREADING.includes(key)) return null;
  if (!CUSTOM.test(key)) return ALLOWED;
  const owner = TAKEN.find(([beginning]) => key.startsWith(beginning))?.[1];
  return owner === undefined ? null : `is read or written by ${owner}: ${ALLOWED}, and none of theirs`;
}

const MESSAGE_IDS = /^<[!-;=?-~]+@[!-;=?-~]+>(?: +<[!-;=?-~]+@[!-;=?-~]+>)*$/;

function valueFault(key: string, value: string): string | null {
  if (/\p{Cc}/u.test(value)) return 'must not hold line ends or control characters';
  if (value.trim() === '' || value.length > LONGEST_HEADER)
    return `must have 1 to ${LONGEST_HEADER} characters`;
  if (value.split(' ').some((word) => word.length > LONGEST_WORD))
    return `must have no word of more than ${LONGEST_WORD} characters`;
  if (THREADING.includes(key) && !MESSAGE_IDS.test(value))
    return 'must be message ids in angle brackets, with a blank between them: <id@example.com>';
  return null;
}
