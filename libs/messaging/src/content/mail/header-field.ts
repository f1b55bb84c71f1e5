import { createRequire } from 'node:module';
import type libmime from 'libmime';

/** A header field beside the ones every message has. */
export type Header = readonly [name: string, value: string];

export interface Mailbox {
  /** Display name; null for the bare address. */
  readonly name: string | null;
  /** Address with its domain as A-labels; a local part outside ASCII needs SMTPUTF8. */
  readonly address: string;
}

/** A mailbox, or its bare address. */
export type Addressee = string | Mailbox;

/** A header name or value that must not go on the wire. */
export class HeaderValueError extends Error {
  override readonly name = 'HeaderValueError';

  constructor(
    readonly header: string,
    reason: string,
  ) {
    super(`${header}: ${reason}`);
  }
}

const CONTROL = /[^\P{Cc}\u0080-\u009f]/u;
const PRINTABLE_ASCII = /^[ -~]*$/;
/** RFC 5322 §3.6.8, but for a dot at the beginning, which SMTP would double. */
const HEADER_NAME = /^(?!\.)[!-9;-~]+$/;

/** RFC 5322 §2.1.1. */
const LINE_LIMIT = 998;
/** RFC 2047 §2: a line that holds an encoded word. */
const ENCODED_LINE_LIMIT = 76;

/** @throws {HeaderValueError} when the value holds C0 or DEL, which could end the field or hide another one */
function assertHeaderValue(name: string, value: string): void {
  if (CONTROL.test(value)) throw new HeaderValueError(name, 'holds a control character');
}

/**
 * A header field, folded, with its CRLF. Only existing blanks are folded, so a URL or an address never breaks;
 * the first token stays on the line of the name.
 * @throws {HeaderValueError} on control characters, a bad name or a token that no line can hold
 */
export function foldHeader(name: string, value: string): string {
  if (!HEADER_NAME.test(name)) throw new HeaderValueError(name, 'is not a header name');
  assertHeaderValue(name, value);
  const begin = `${name}:`;
  let line = begin;
  let field = '';
  for (const token of value.trim().split(' ')) {
    // Blanks in a row stay, and none of them makes up a line.
    if (token !== '' && line !== begin && line.length + 1 + token.length > ENCODED_LINE_LIMIT) {
      field += `${line}\r\n`;
      line = '';
    }
    line += ` ${token}`;
    if (Buffer.byteLength(line) > LINE_LIMIT) throw new HeaderValueError(name, 'is too long for a line');
  }
  return `${field}${line}\r\n`;
}

/** True when unstructured text can stand in a header as it is: no reader may see anything else than was meant. */
const standsAsIs = (text: string): boolean =>
  PRINTABLE_ASCII.test(text) && !text.includes('=?') && !/^ | $| {2}/.test(text) && !/[^ ]{77}/.test(text);

/** An unstructured header (Subject) of any text, in encoded words where needed (RFC 2047). */
export function unstructuredHeader(name: string, text: string): string {
  assertHeaderValue(name, text);
  return foldHeader(name, standsAsIs(text) ? text : encodedWords(text, ENCODED_LINE_LIMIT - name.length - 2));
}

const ATOMS = /^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/;
const QUOTABLE_LENGTH = 60;

/** A display name or list name as a phrase: atoms, a quoted string, or encoded words (RFC 5322 §3.2.5). */
function phrase(header: string, text: string): string {
  assertHeaderValue(header, text);
  const quotable = standsAsIs(text) && text.length <= QUOTABLE_LENGTH;
  if (quotable && ATOMS.test(text)) return text;
  if (quotable) return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  return encodedWords(text, ENCODED_LINE_LIMIT - header.length - 2);
}

const require = createRequire(import.meta.url);
/** Loaded for the first such text: its tables of encodings take 2 MB, and an api hardly ever needs them. */
let encoder: typeof libmime | undefined;

/**
 * UTF-8 text as encoded words that split between characters only (RFC 2047 §5), separated by single blanks, which a
 * reader removes again.
 */
function encodedWords(text: string, limit: number): string {
  const wellFormed = text.toWellFormed();
  encoder ??= require('libmime') as typeof libmime;
  const quoted = encoder.encodeWord(wellFormed, 'Q', limit);
  const base64 = encoder.encodeWord(wellFormed, 'B', limit);
  return quoted.length <= base64.length ? quoted : base64;
}

/** True when no character needs an encoding of its own. */
export const isAscii = (value: string): boolean => !/[^\p{ASCII}]/u.test(value);

// One mailbox without a comment, a list or a route: enough that a header can only ever name one recipient.
const MAILBOX = /^(?:[^\s,;:<>()[\]\\"@]+|"(?:[^"\\]|\\.)+")@[^\s,;:<>()[\]\\"@]+$/;

function address(header: string, value: string): string {
  assertHeaderValue(header, value);
  if (!MAILBOX.test(value)) throw new HeaderValueError(header, 'is not one address');
  return value;
}

/** A field of mailboxes, such as From, To or Cc; empty where there are none. @throws {HeaderValueError} */
export function mailboxHeader(name: string, mailboxes: readonly Addressee[]): string {
  if (mailboxes.length === 0) return '';
  const written = mailboxes.map((mailbox) => {
    if (typeof mailbox === 'string') return address(name, mailbox);
    const bare = address(name, mailbox.address);
    return mailbox.name ? `${phrase(name, mailbox.name)} <${bare}>` : bare;
  });
  return foldHeader(name, written.join(', '));
}

/** Octets of a parameter's value on one line. */
const PARAMETER_LENGTH = 60;
const PLAIN_PARAMETER = /^[\w.-]+$/;
/** `attribute-char` of RFC 2231 §7. */
const ATTRIBUTE_CHARACTER = /[A-Za-z0-9!#$&+.^_`{|}~-]/;

/**
 * A field with parameters, each on a line of its own (RFC 2045 §5.1). Values that are long, not ASCII, or that readers unquote
 * differently are percent-encoded, in several pieces where one line does not hold them (RFC 2231 §4.1).
 * @throws {HeaderValueError} on a control character
 */
export function parameterHeader(
  name: string,
  value: string,
  parameters: readonly (readonly [name: string, value: string])[],
): string {
  const written = parameters.flatMap(([key, text]) => {
    assertHeaderValue(name, text);
    if (text.length > PARAMETER_LENGTH || !standsAsIs(text) || /["\\]/.test(text)) return extended(key, text);
    return PLAIN_PARAMETER.test(text) ? `${key}=${text}` : `${key}="${text}"`;
  });
  return `${[`${name}: ${value}`, ...written].join(';\r\n ')}\r\n`;
}

function extended(key: string, text: string): string[] {
  const pieces = ["utf-8''"];
  for (const character of text.toWellFormed()) {
    const encoded = ATTRIBUTE_CHARACTER.test(character) ? character : percentEncoded(character);
    if ((pieces.at(-1) ?? '').length + encoded.length > PARAMETER_LENGTH) pieces.push('');
    pieces.push((pieces.pop() ?? '') + encoded);
  }
  if (pieces.length === 1) return [`${key}*=${pieces.join('')}`];
  return pieces.map((piece, at) => `${key}*${at}*=${piece}`);
}

const percentEncoded = (character: string): string =>
  Buffer.from(character).toString('hex').toUpperCase().replaceAll(/../g, '%$&');

const LONGEST_ENDING = /\.[^.]{1,16}$/;

/**
 * A file's name in printable ASCII, on one line, for readers that know no RFC 2231: `name` of its Content-Type. As a `filename` beside
 * `filename*` it would not do, since Python's email takes the plain one of the two; encoded words in quotes no standard has.
 */
export function asciiFilename(filename: string): string {
  const ascii = filename
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/=\?|[^ -~]+|["\\]/gu, '_')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  if (ascii.length <= PARAMETER_LENGTH) return ascii;
  const ending = LONGEST_ENDING.exec(ascii)?.[0] ?? '';
  return ascii.slice(0, PARAMETER_LENGTH - ending.length).trimEnd() + ending;
}

export function bracketed(messageId: string): string {
  const id = messageId.startsWith('<') ? messageId : `<${messageId}>`;
  if (!/^<[!-;=?-~]+@[!-;=?-~]+>$/.test(id)) throw new HeaderValueError('Message-ID', 'is not a message id');
  return id;
}

export function dateTime(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new HeaderValueError('Date', 'is not a time');
  return date.toUTCString().replace('GMT', '+0000');
}

interface ListHeaderInput {
  /** Stable dotted name below a domain, without angle brackets (RFC 2919 §2). */
  readonly listId: string;
  readonly listName: string;
  /** `a:b:c:sender`, the last field stable for the sender. */
  readonly feedbackId: string;
}

const LIST_ID = /^[\w-]+(?:\.[\w-]+)+$/;
const URL_IN_BRACKETS = /^https?:\/\/[!#-;=?-~]+$/;
const ADDRESS = /^[!#-;=?-~]+@[!#-;=?-~]+$/;
const FEEDBACK_ID = /^[\w.-]*(?::[\w.-]*){1,3}$/;

/**
 * The headers that all mails to a list have: List-Id (RFC 2919), the one-click post of RFC 8058 §3.1, Feedback-ID and
 * Precedence.
 * @throws {HeaderValueError} when a value does not fit its header
 */
export function listHeaders(input: ListHeaderInput): Header[] {
  check('List-Id', LIST_ID, input.listId);
  check('Feedback-ID', FEEDBACK_ID, input.feedbackId);
  const name = input.listName === '' ? '' : `${phrase('List-Id', input.listName)} `;
  return [
    ['List-Id', `${name}<${input.listId}>`],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ['Feedback-ID', input.feedbackId],
    ['Precedence', 'bulk'],
  ];
}

/**
 * List-Unsubscribe (RFC 2369), personal to the delivery: the web address, which takes the one-click POST, comes first and stays
 * on one line.
 * @param mailto unsubscribes by mail
 * @throws {HeaderValueError} when an address does not fit
 */
export function unsubscribeHeader(url: string, mailto: string): Header {
  check('List-Unsubscribe', URL_IN_BRACKETS, url);
  check('List-Unsubscribe', ADDRESS, mailto);
  return ['List-Unsubscribe', `<${url}>, <mailto:${mailto}>`];
}

/** The header of mail that a machine sends on its own account, such as an opt-in confirmation (RFC 3834 §5). */
export function systemHeaders(): Header[] {
  return [['Auto-Submitted', 'auto-generated']];
}

function check(header: string, pattern: RegExp, value: string): void {
  if (!pattern.test(value)) throw new HeaderValueError(header, 'has a value that does not fit it');
}
