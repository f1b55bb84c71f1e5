import { hash } from 'node:crypto';
import { type MailBody, type Octets, sizeOf } from '#kernel';
import { compileBody, encodeBody, type EncodedBody } from './body-encoding.js';
import {
  assertHeaderValue,
  foldHeader,
  HeaderValueError,
  phrase,
  unstructuredHeader,
} from './header-encoding.js';
import type { MergeTemplate, MergeValues } from '../merge/merge-template.js';

export { HeaderValueError } from './header-encoding.js';

/** A header field beside the ones every message has. */
export type Header = readonly [name: string, value: string];

export interface Sender {
  /** Display name of the From header; null for the bare address. */
  readonly name: string | null;
  /** Address with its domain as A-labels; a local part outside ASCII needs SMTPUTF8. */
  readonly address: string;
}

/** What differs from one recipient to the next. */
export interface RecipientParts {
  readonly to: string;
  /** In place of the sender's name; not given where it is the same for all. */
  readonly fromName?: string | undefined;
  readonly subject: string;
  /** With or without its angle brackets. */
  readonly messageId: string;
  readonly date: Date;
  readonly headers: readonly Header[];
}

export interface MimeParts extends RecipientParts {
  readonly html: string;
  readonly text: string;
}

export interface MimeMessage extends MimeParts {
  readonly from: Sender;
  /** As in `SharedParts`. */
  readonly replyTo?: string | null;
  /** BCP 47 (RFC 3282); none is claimed where it is not given. */
  readonly language?: string;
}

/** What all mails of a campaign share. */
export interface SharedParts {
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
  /** Of parts that are filled in and encoded already. @throws {HeaderValueError} as `build` */
  wrap(parts: RecipientParts & { readonly html: EncodedBody; readonly text: EncodedBody }): MailBody;
}

const OWN_HEADERS = new Set([
  'date',
  'from',
  'to',
  'subject',
  'message-id',
  'mime-version',
  'sender',
  'reply-to',
  'cc',
  'bcc',
]);

/**
 * Builds the whole message (RFC 5322, multipart/alternative with the text first): CRLF only, no line that begins with a
 * dot, ASCII but for an address that needs SMTPUTF8. The boundary follows from the Message-ID, so equal input gives equal bytes.
 * @throws {HeaderValueError} when a header value could break out of its field
 */
export function buildMimeMessage(message: MimeMessage): MailBody {
  return assemble(
    fromHeader(message.from) +
      replyToHeader(message.replyTo ?? null) +
      languageHeader(message.language ?? null),
    new Set(),
    message,
    encodeBody(message.text),
    encodeBody(message.html),
  );
}

/** Folds and encodes what all messages of a campaign share. */
export function compileMimeSkeleton(shared: SharedParts): MimeSkeleton {
  const seen = new Set<string>();
  const from = fromHeader(shared.from);
  const rest =
    replyToHeader(shared.replyTo ?? null) +
    languageHeader(shared.language ?? null) +
    extraHeaders(shared.headers, seen);
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

function replyToHeader(replyTo: string | null): string {
  return replyTo === null ? '' : foldHeader('Reply-To', address('Reply-To', replyTo));
}

function languageHeader(language: string | null): string {
  return language === null ? '' : foldHeader('Content-Language', language);
}

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
