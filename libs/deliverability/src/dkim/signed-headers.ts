import type { HeaderField } from './canonical-headers.js';

/**
 * What is signed, as far as a message has it (RFC 6376 §5.4.1). Mailbox providers take a one-click unsubscription for
 * the sender's only when both its fields are signed (RFC 8058 §4).
 */
const SIGNED = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'MIME-Version',
  'List-Id',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
];
const SIGNED_KEYS = new Set(SIGNED.map((name) => name.toLowerCase()));

/**
 * Named once more than they occur, so that nobody can add another one that a reader, or the program that parses the
 * body or unsubscribes, would take for ours (RFC 6376 §8.15). They are fields that a message has once at most (RFC 5322
 * §3.6, RFC 2045 §4, RFC 2369 §2), so nobody on the way has a reason to add one.
 */
const SEALED = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Reply-To',
  'MIME-Version',
  'Content-Type',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
];

export interface SignedHeaders {
  /** The names for `h=`. */
  readonly names: readonly string[];
  /** The fields in the order of their names, the last of a name first (RFC 6376 §5.4.2). */
  readonly fields: readonly HeaderField[];
}

/** Which fields of a message its signature covers, `Content-*` among them, but for those that are replaced on the way. */
export function signedHeaders(fields: readonly HeaderField[], replaced: readonly string[]): SignedHeaders {
  const isKept = (key: string) => !replaced.includes(key);
  const signed = fields
    .filter(({ key }) => (SIGNED_KEYS.has(key) || key.startsWith('content-')) && isKept(key))
    .toReversed();
  const sealed = SEALED.filter((name) => isKept(name.toLowerCase()));
  return { names: [...signed.map(({ name }) => name), ...sealed], fields: signed };
}
