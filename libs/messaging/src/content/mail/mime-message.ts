import { hash } from 'node:crypto';
import { type MailBody, type Octets, sizeOf } from '#kernel';
import type { MergeTemplate } from '../merge/merge-template.js';
import type { MergeValues } from '../merge/merge-values.js';
import type { EncodedAttachment, MimePart } from './attachment-part.js';
import { compileBody, encodeBody, type EncodedBody } from './body-encoding.js';
import {
  type Addressee,
  bracketed,
  dateTime,
  foldHeader,
  type Header,
  HeaderValueError,
  isAscii,
  type Mailbox,
  mailboxHeader,
  unstructuredHeader,
} from './header-field.js';

/** Parts that differ from one recipient to the next. */
interface RecipientParts {
  readonly to: Addressee;
  readonly cc?: readonly Addressee[];
  /** In place of the sender's name; not given where it is the same for all. */
  readonly fromName?: string | undefined;
  readonly subject: string;
  /** Angle brackets are optional. */
  readonly messageId: string;
  readonly date: Date;
  readonly headers: readonly Header[];
}

export interface MimeMessage extends RecipientParts, Pick<SharedParts, 'from' | 'replyTo' | 'language'> {
  /** Null: the text alone is the message. */
  readonly html: string | EncodedBody | null;
  readonly text: string | EncodedBody;
  /** In their order; those with a Content-ID belong to the HTML. */
  readonly attachments?: readonly EncodedAttachment[];
}

/** Parts that all mails of a campaign share. */
interface SharedParts {
  readonly from: Mailbox;
  /** Without any, answers go to `from`. */
  readonly replyTo?: readonly Addressee[];
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
 * Builds the whole message (RFC 5322): multipart/mixed around multipart/related around multipart/alternative with the text first,
 * each where it has a use. CRLF only, no line that begins with a dot, ASCII but for an address that needs SMTPUTF8. Boundaries
 * follow from the Message-ID, so equal input gives equal bytes.
 * @throws {HeaderValueError} when a header value could break out of its field
 */
export function buildMimeMessage(message: MimeMessage): MailBody {
  const { html, text, attachments = [] } = message;
  const bodies = {
    text: typeof text === 'string' ? encodeBody(text) : text,
    html: typeof html === 'string' ? encodeBody(html) : html,
  };
  return assemble(
    mailboxHeader('From', [message.from]) + sharedHeaders(message),
    new Set(),
    message,
    bodies,
    attachments,
  );
}

/** Folds and encodes the parts that all messages of a campaign share. */
export function compileMimeSkeleton(shared: SharedParts): MimeSkeleton {
  const seen = new Set<string>();
  const from = mailboxHeader('From', [shared.from]);
  const rest = sharedHeaders(shared) + extraHeaders(shared.headers, seen);
  const headOf = ({ fromName: name }: RecipientParts) =>
    (name === undefined ? from : mailboxHeader('From', [{ ...shared.from, name }])) + rest;
  const html = shared.html && compileBody(shared.html);
  const text = shared.text && compileBody(shared.text);
  const assembled = (parts: RecipientParts, bodies: Bodies) => assemble(headOf(parts), seen, parts, bodies);
  return {
    build: (parts) => {
      if (html === null || text === null) throw new TypeError('the message has no templates of its own');
      return assembled(parts, { text: text.build(parts.values), html: html.build(parts.values) });
    },
    wrap: (parts) => assembled(parts, parts),
  };
}

function assemble(
  head: string,
  seen: ReadonlySet<string>,
  parts: RecipientParts,
  bodies: Bodies,
  attachments: readonly EncodedAttachment[] = [],
): MailBody {
  const messageId = bracketed(parts.messageId);
  const content = contentOf(messageId, bodies, attachments);
  const headers =
    head +
    mailboxHeader('To', [parts.to]) +
    mailboxHeader('Cc', parts.cc ?? []) +
    unstructuredHeader('Subject', parts.subject) +
    foldHeader('Date', dateTime(parts.date)) +
    foldHeader('Message-ID', messageId) +
    extraHeaders(parts.headers, new Set(seen)) +
    `MIME-Version: 1.0\r\n${content.head}\r\n`;
  // An address may need SMTPUTF8.
  const ascii = isAscii(headers);
  const pieces: Octets[] = [ascii ? headers : Buffer.from(headers)];
  append(pieces, content);
  pieces.push('\r\n');
  return { pieces, size: sizeOf(pieces), isAscii: ascii, hasAsciiHeaders: ascii, hasDots: false };
}

interface Multipart {
  readonly head: string;
  readonly boundary: string;
  readonly parts: readonly Entity[];
}

type Entity = MimePart | Multipart;

interface Bodies {
  readonly text: EncodedBody;
  readonly html: EncodedBody | null;
}

/** The content in as few layers as it needs. An invitation is one more form of the text, and a file as well (RFC 6047 §2.4). */
function contentOf(
  messageId: string,
  { text, html }: Bodies,
  attachments: readonly EncodedAttachment[],
): Entity {
  const boundaryOf = (layer: string) => `=_${hash('sha256', layer + messageId).slice(0, 32)}`;
  const inline = attachments.filter(({ isInline }) => isInline);
  const files = attachments.filter(({ isInline }) => !isInline);
  const invitation = files.find((file) => file.invitation !== null)?.invitation ?? null;
  let content: Entity = textPart('plain', text);
  if (html !== null || invitation !== null) {
    const forms: Entity[] = [content, ...(html === null ? [] : [textPart('html', html)])];
    if (invitation !== null) forms.push(invitation);
    content = multipart('alternative', boundaryOf(''), forms);
  }
  if (inline.length > 0) content = multipart('related', boundaryOf('related'), [content, ...inline]);
  if (files.length > 0) content = multipart('mixed', boundaryOf('mixed'), [content, ...files]);
  return content;
}

function textPart(subtype: string, { encoding, content }: EncodedBody): MimePart {
  const head = `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`;
  return { head, pieces: content };
}

function multipart(subtype: string, boundary: string, parts: readonly Entity[]): Multipart {
  // RFC 2387 §3.1.
  const type = subtype === 'related' ? `\r\n type="${typeOf(parts[0]!)}";` : '';
  return {
    head: `Content-Type: multipart/${subtype};${type}\r\n boundary="${boundary}"\r\n`,
    boundary,
    parts,
  };
}

/** Adds the body of an entity to a message. */
function append(message: Octets[], entity: Entity): void {
  if (!('parts' in entity)) {
    for (const piece of entity.pieces) message.push(piece);
    return;
  }
  const { boundary, parts } = entity;
  let delimiter = `--${boundary}`;
  for (const part of parts) {
    message.push(`${delimiter}\r\n${part.head}\r\n`);
    append(message, part);
    delimiter = `\r\n--${boundary}`;
  }
  message.push(`${delimiter}--`);
}

const typeOf = ({ head }: Entity): string => /^Content-Type: ([^;]+)/.exec(head)?.[1] ?? 'text/plain';

const sharedHeaders = ({
  replyTo = [],
  language = null,
}: Pick<SharedParts, 'replyTo' | 'language'>): string =>
  mailboxHeader('Reply-To', replyTo) + (language === null ? '' : foldHeader('Content-Language', language));

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
