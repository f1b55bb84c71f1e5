import { hash } from 'node:crypto';
import { createRequire } from 'node:module';
import type libmime from 'libmime';
import { type MailBody, type Octets, sizeOf } from '#kernel';
import { compileBody, encodeBody, type EncodedBody } from './body-encoding.js';
import type { MergeTemplate } from '../merge/merge-template.js';
import type { MergeValues } from '../merge/merge-values.js';

/** A header field beside the ones every message has. */
export type Header = readonly [name: string, value: string];

export interface Sender {
  /** Display name of the From header; null for the bare address. */
  readonly name: string | null;
  /** Address with its domain as A-labels; a local part outside ASCII needs SMTPUTF8. */
  readonly address: string;
}

/** Parts that differ from one recipient to the next. */
interface RecipientParts {
  readonly to: string;
  /** In place of the sender's name; not given where it is the same for all. */
  readonly fromName?: string | undefined;
  readonly subject: string;
  /** Angle brackets are optional. */
  readonly messageId: string;
  readonly date: Date;
  readonly headers: readonly Header[];
}

export interface MimeMessage extends RecipientParts, Pick<SharedParts, 'from' | 'replyTo' | 'language'> {
  readonly html: string;
  readonly text: string;
}

/** Parts that all mails of a campaign share. */
interface SharedParts {
  readonly from: Sender;
  /** An address with its domain as A-labels; without one, answers go to `from`. */
  readonly replyTo?: string | null;
  /** BCP 47 (RFC 3282); none is claimed where it is not given. */
  readonly language?: string | null;
  readonly headers: readonly Header[];
  /** Null where it is filled in elsewhere. */
  readonly html: MergeTemplate | null;
  readonly text: MergeTemplate | null;
}

/** A message whose fixed headers are folded and whose fixed texts are encoded already. */
export interface MimeSkeleton {
  /** @throws {HeaderValueError} when a header value could break out of its field */
  build(parts: RecipientParts & { readonly values: MergeValues }): MailBody;
  /** As `build`, with parts that are filled in and encoded already. @throws {HeaderValueError} as `build` */
  wrap(parts: RecipientParts & { readonly html: EncodedBody; readonly text: EncodedBody }): MailBody;
}

const OWN_HEADERS = new Set('date from to subject message-id mime-version sender reply-to cc bcc'.split(' '));

/**
 * Builds the whole message (RFC 5322, multipart/alternative with the text first): CRLF only, no line that begins with a
 * dot, ASCII but for an address that needs SMTPUTF8. The boundary follows from the Message-ID, so equal input gives equal bytes.
 * @throws {HeaderValueError} when a header value could break out of its field
 */
export function buildMimeMessage(message: MimeMessage): MailBody {
  return assemble(
    fromHeader(message.from) + sharedHeaders(message),
    new Set(),
    message,
    encodeBody(message.text),
    encodeBody(message.html),
  );
}

/** Folds and encodes the parts that all messages of a campaign share. */
export function compileMimeSkeleton(shared: SharedParts): MimeSkeleton {
  const seen = new Set<string>();
  const from = fromHeader(shared.from);
  const rest = sharedHeaders(shared) + extraHeaders(shared.headers, seen);
  const headOf = ({ fromName: name }: RecipientParts) =>
    (name === undefined ? from : fromHeader({ ...shared.from, name })) + rest;
  const html = shared.html && compileBody(shared.html);
  const text = shared.text && compileBody(shared.text);
  return {
    build: (parts) => {
      if (html === null || text === null) throw new TypeError('the message has no templates of its own');
      return assemble(headOf(parts), seen, parts, text.build(parts.values), html.build(parts.values));
    },
    wrap: (parts) => assemble(headOf(parts), seen, parts, parts.text, parts.html),
  };
}

function assemble(
  head: string,
  seen: ReadonlySet<string>,
  parts: RecipientParts,
  text: EncodedBody,
  html: EncodedBody,
): MailBody {
  const messageId = bracketed(parts.messageId);
  const boundary = `=_${hash('sha256', messageId).slice(0, 32)}`;
  const headers =
    head +
    foldHeader('To', address('To', parts.to)) +
    unstructuredHeader('Subject', parts.subject) +
    foldHeader('Date', dateTime(parts.date)) +
    foldHeader('Message-ID', messageId) +
    extraHeaders(parts.headers, new Set(seen)) +
    'MIME-Version: 1.0\r\n' +
    `Content-Type: multipart/alternative;\r\n boundary="${boundary}"\r\n\r\n`;
  // An address may need SMTPUTF8.
  const ascii = isAscii(headers);
  const beforeText = `--${boundary}\r\n${partHeaders('plain', text.encoding)}`;
  const beforeHtml = `\r\n--${boundary}\r\n${partHeaders('html', html.encoding)}`;
  const begin: Octets[] = [ascii ? headers : Buffer.from(headers), beforeText];
  const pieces = begin.concat(text.content, beforeHtml, html.content, `\r\n--${boundary}--\r\n`);
  return { pieces, size: sizeOf(pieces), isAscii: ascii, hasAsciiHeaders: ascii, hasDots: false };
}

const partHeaders = (subtype: string, encoding: string): string =>
  `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;

function fromHeader(from: Sender): string {
  const mailbox = address('From', from.address);
  return foldHeader('From', from.name ? `${phrase('From', from.name)} <${mailbox}>` : mailbox);
}

const sharedHeaders = ({
  replyTo = null,
  language = null,
}: Pick<SharedParts, 'replyTo' | 'language'>): string =>
  (replyTo === null ? '' : foldHeader('Reply-To', address('Reply-To', replyTo))) +
  (language === null ? '' : foldHeader('Content-Language', language));

function extraHeaders(headers: readonly Header[], seen: Set<string>): string {
  let folded = '';
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (OWN_HEADERS.has(key) || key.startsWith('content-')) {
      throw new HeaderValueError(name, 'is written by the message itself');
    }
    if (seen.has(key)) throw new HeaderValueError(name, 'is given twice');
    seen.add(key);
    folded += isAscii(value) ? foldHeader(name, value) : unstructuredHeader(name, value);
  }
  return folded;
}

const isAscii = (value: string): boolean => !/[^\p{ASCII}]/u.test(value);

// One mailbox without a comment, a list or a route: enough that a header can only ever name one recipient.
const MAILBOX = /^(?:[^\s,;:<>()[\]\\"@]+|"(?:[^"\\]|\\.)+")@[^\s,;:<>()[\]\\"@]+$/;

function address(header: string, value: string): string {
  assertHeaderValue(header, value);
  if (!MAILBOX.test(value)) throw new HeaderValueError(header, 'is not one address');
  return value;
}

function bracketed(messageId: string): string {
  const id = messageId.startsWith('<') ? messageId : `<${messageId}>`;
  if (!/^<[!-;=?-~]+@[!-;=?-~]+>$/.test(id)) throw new HeaderValueError('Message-ID', 'is not a message id');
  return id;
}

function dateTime(date: Date): string {
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
function foldHeader(name: string, value: string): string {
  if (!HEADER_NAME.test(name)) throw new HeaderValueError(name, 'is not a header name');
  assertHeaderValue(name, value);
  let line = `${name}:`;
  let field = '';
  for (const [index, token] of value
    .trim()
    .split(/ +(?=[^ ])/)
    .entries()) {
    if (index > 0 && line.length + 1 + token.length > ENCODED_LINE_LIMIT) {
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
function unstructuredHeader(name: string, text: string): string {
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
