import { setImmediate as nextTurn } from 'node:timers/promises';
import { LargeText } from '#kernel';
import type { Attachment, MediaType } from '../content/mail/attachment-part.js';
import { programEnding, programInside } from './program-file.js';

/** A file as the API gets it. */
export interface GivenAttachment {
  /** 1 to 255 characters, no path. */
  readonly filename: string;
  /** A media type with its parameters: `text/calendar; method=REQUEST`. */
  readonly contentType: string;
  /** Base64 (RFC 4648 §4), with its padding; line ends and blanks may stand in it. */
  readonly content?: string | LargeText | undefined;
  /** An image that the project keeps, in place of `content`. */
  readonly mediaId?: string | undefined;
  /** The name that `cid:` has in the HTML. */
  readonly contentId?: string | undefined;
}

/** Faults by the path of their field, `attachments[2].content`. */
export type AttachmentErrors = Readonly<Record<string, string>>;

export const MOST_ATTACHMENTS = 20;
/** Octets of all together, decoded: 10 MB. */
export const MOST_ATTACHED = 10 * 1_024 * 1_024;
const LONGEST_FILENAME = 255;

/** An image that the project keeps; null where there is none of this id. */
export type ReadMedia = (
  id: string,
) => Promise<{ readonly contentType: string; readonly content: Buffer } | null>;

/**
 * The files that a message may carry, decoded, the event loop going on meanwhile; or every fault of theirs. Of those together it takes
 * their decoded size, and stops at the first octet too many.
 */
export async function readAttachments(
  given: readonly GivenAttachment[],
  readMedia: ReadMedia,
): Promise<{ readonly attachments: readonly Attachment[] } | { readonly errors: AttachmentErrors }> {
  if (given.length > MOST_ATTACHMENTS)
    return { errors: { attachments: `must be ${MOST_ATTACHMENTS} files at most` } };
  const errors: Record<string, string> = {};
  const attachments: Attachment[] = [];
  const seen = new Set<string>();
  let room = MOST_ATTACHED;
  for (const [index, one] of given.entries()) {
    const fail = (field: string, fault: string) => {
      errors[`attachments[${index}].${field}`] ??= fault;
    };
    const { filename, contentId = null } = one;
    const nameFault = filenameFault(filename);
    if (nameFault !== null) fail('filename', nameFault);
    const type = parseMediaType(one.contentType);
    if ('fault' in type) fail('contentType', type.fault);
    if (contentId !== null && !CONTENT_ID.test(contentId)) fail('contentId', CONTENT_ID_FORM);
    if (contentId !== null && seen.has(contentId)) fail('contentId', 'is that of another attachment, too');
    if (contentId !== null) seen.add(contentId);
    const content = await contentOf(one, room, readMedia);
    if ('fault' in content) fail(content.field, content.fault);
    else if ('isTooLarge' in content) {
      errors['attachments'] ??= `must have ${MOST_ATTACHED} bytes (10 MB) together at most, decoded`;
    } else {
      room -= content.bytes.length;
      const program = programInside(content.bytes);
      if (program !== null) fail('content', `${program}: mailbox providers refuse programs`);
      if ('fault' in type) continue;
      const contentType = withMethod(type, content.bytes);
      if ('fault' in contentType) fail(contentType.field, contentType.fault);
      else attachments.push({ filename, contentType, content: content.bytes, contentId });
    }
  }
  return Object.keys(errors).length > 0 ? { errors } : { attachments };
}

const DEVICES = /^(?:con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³])\s*(?:\.|$)/i;

function filenameFault(name: string): string | null {
  if (name === '' || (name.length > LONGEST_FILENAME && Array.from(name).length > LONGEST_FILENAME))
    return `must have 1 to ${LONGEST_FILENAME} characters`;
  if (!name.isWellFormed()) return 'must be Unicode: it holds half a surrogate pair';
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) return 'must not hold line ends or control characters';
  if (/[/\\]/.test(name) || name === '.' || name === '..') return 'must be a name without a path';
  if (/[\u202a-\u202e\u2066-\u2069]/.test(name))
    return 'must not hold characters that change the direction of writing';
  if (/^\s|[\s.]$/u.test(name)) return 'must not begin with a blank, nor end with a blank or a dot';
  // Readers such as postal-mime decode one wherever it stands.
  if (/=\?[^?]+\?[bq]\?/i.test(name)) return 'must not look like an encoded word (=?…?=)';
  if (DEVICES.test(name)) return 'is the name of a device on Windows';
  const ending = programEnding(name);
  return ending === null ? null : `names a program (.${ending}): mailbox providers refuse programs`;
}

type Fault = { readonly fault: string };
type FieldFault = Fault & { readonly field: 'content' | 'mediaId' | 'contentType' };

async function contentOf(
  { contentType, content, mediaId }: GivenAttachment,
  room: number,
  readMedia: ReadMedia,
): Promise<{ readonly bytes: Buffer } | { readonly isTooLarge: true } | FieldFault> {
  if (mediaId !== undefined) {
    if (content !== undefined) return { field: 'mediaId', fault: 'must not be given together with content' };
    const image = await readMedia(mediaId);
    if (image === null) return { field: 'mediaId', fault: 'is no image of the project' };
    if (contentType !== image.contentType)
      return { field: 'contentType', fault: `must be ${image.contentType}, as the image is` };
    return image.content.length > room ? { isTooLarge: true } : { bytes: image.content };
  }
  if (content === undefined) return { field: 'content', fault: 'is required, or mediaId' };
  const decoded = await decodeBase64(content, room);
  return 'fault' in decoded ? { field: 'content', ...decoded } : decoded;
}

/** Characters decoded at once, some 0.2 ms; a multiple of four. */
const CHUNK = 65_536;
const NOT_BASE64 = 'must be base64 (RFC 4648 §4)';

/** Strict but for blanks and line ends, which programs wrap base64 with. */
async function decodeBase64(
  text: string | LargeText,
  room: number,
): Promise<{ readonly bytes: Buffer } | { readonly isTooLarge: true } | Fault> {
  const bytes = Buffer.allocUnsafeSlow(Math.min(Math.ceil(text.length / 4) * 3, room));
  let size = 0;
  let rest = '';
  for (const [piece, isLast] of piecesOf(text)) {
    if (size === 0 && rest === '' && piece.startsWith('data:'))
      return { fault: `${NOT_BASE64}, without data:…,` };
    const chunk = rest + piece.replaceAll(/[ \t\r\n]+/g, '');
    const whole = isLast ? chunk : chunk.slice(0, Math.max(0, chunk.length - 4 - (chunk.length % 4)));
    rest = chunk.slice(whole.length);
    const fault = base64Fault(isLast ? whole.replace(/={1,2}$/, '') : whole, whole, isLast);
    if (fault !== null) return { fault };
    if (size + Buffer.byteLength(whole, 'base64') > room) return { isTooLarge: true };
    size += bytes.write(whole, size, 'base64');
    await nextTurn();
  }
  if (size === 0) return { fault: 'must not be empty' };
  return { bytes: bytes.subarray(0, size) };
}

/** The text piece by piece, of which each says whether it is the last. */
function* piecesOf(text: string | LargeText): Generator<readonly [piece: string, isLast: boolean]> {
  let before: string | null = null;
  for (const piece of typeof text === 'string' ? slicesOf(text) : text.chunks()) {
    if (before !== null) yield [before, false];
    before = piece;
  }
  if (before !== null) yield [before, true];
}

function* slicesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += CHUNK) yield text.slice(at, at + CHUNK);
}

function base64Fault(digits: string, padded: string, isLast: boolean): string | null {
  const wrong = /[^A-Za-z0-9+/]/.exec(digits)?.[0];
  if (wrong === '-' || wrong === '_') return `${NOT_BASE64}: it has the alphabet of URLs, with - and _`;
  if (wrong !== undefined) return NOT_BASE64;
  if (!isLast) return null;
  if (padded.length % 4 !== 0) return `${NOT_BASE64}, whole and with its padding`;
  // RFC 4648 §3.5: bits that no octet has are zero.
  const last = padded.slice(-4);
  return Buffer.from(last, 'base64').toString('base64') === last ? null : NOT_BASE64;
}

const MEDIA_TYPE = /^([a-z0-9][\w!#$&^.+-]{0,126})\/([a-z0-9][\w!#$&^.+-]{0,126})$/i;
const PARAMETER = /^\s*([a-z][a-z0-9-]{0,30})=(?:([\w!#$%&'*+.^`{|}~-]{1,100})|"([^"\\]{1,100})")\s*$/i;
const MOST_PARAMETERS = 8;
/** Parameters that the message writes itself. */
const OWN_PARAMETERS = new Set(['name', 'boundary']);

/** A media type with its parameters (RFC 2045 §5.1), or its fault; `multipart` and `message` may not be base64 (RFC 2046 §5). */
function parseMediaType(text: string): MediaType | Fault {
  const [essence = '', ...rest] = text.split(';');
  const type = essence.trim().toLowerCase();
  if (!MEDIA_TYPE.test(type) || !/^[ -~]*$/.test(text) || rest.length > MOST_PARAMETERS)
    return { fault: 'must be a media type, such as application/pdf' };
  if (/^(?:multipart|message)\//.test(type))
    return { fault: `must not be ${type}: send a mail as application/octet-stream, named .eml` };
  const parameters: Record<string, string> = {};
  for (const parameter of rest) {
    const [, name, token, quoted] = PARAMETER.exec(parameter) ?? [];
    const value = token ?? quoted;
    if (name === undefined || value === undefined)
      return { fault: 'must have its parameters as name=value, after a semicolon each' };
    const key = name.toLowerCase();
    if (OWN_PARAMETERS.has(key))
      return { fault: `must not have the parameter ${key}, which the message writes itself` };
    if (Object.hasOwn(parameters, key)) return { fault: `has the parameter ${key} twice` };
    parameters[key] = value;
  }
  return { type, parameters };
}

const METHODS = 'PUBLISH REQUEST REPLY ADD CANCEL REFRESH COUNTER DECLINECOUNTER'.split(' ');
/** Octets in which a calendar says its method, before its first component. */
const CALENDAR_HEAD = 8_192;

/** A calendar's type with its charset and method, of which the latter its own METHOD may say (RFC 6047 §2.4); others as they are. */
function withMethod(contentType: MediaType, content: Buffer): MediaType | FieldFault {
  const { type, parameters } = contentType;
  if (type !== 'text/calendar') return contentType;
  const text = content.toString('latin1', 0, CALENDAR_HEAD);
  if (!/^BEGIN:VCALENDAR\r?\n/i.test(text))
    return { field: 'content', fault: 'must begin with the line BEGIN:VCALENDAR, as text/calendar does' };
  const [, ofCalendar = ''] = text.replaceAll(/\r?\n[ \t]/g, '').split(/^BEGIN:/im);
  const written = /^METHOD(?:;[^:\r\n]*)?:([^\r\n]*)/im.exec(ofCalendar)?.[1]?.trim().toUpperCase();
  const named = parameters['method']?.toUpperCase();
  if (named !== undefined && !METHODS.includes(named))
    return { field: 'contentType', fault: `must have one of these methods: ${METHODS.join(', ')}` };
  if (written !== undefined && !METHODS.includes(written))
    return { field: 'content', fault: `must have one of these as METHOD: ${METHODS.join(', ')}` };
  if (named !== undefined && written !== undefined && named !== written)
    return { field: 'contentType', fault: `has method=${named}, but the calendar METHOD:${written}` };
  const method = named ?? written;
  return {
    type,
    parameters: { charset: 'utf-8', ...parameters, ...(method === undefined ? {} : { method }) },
  };
}

const CONTENT_ID = /^[A-Za-z0-9!#$&*+/=?^_`{|}~.@-]{1,128}$/;
const CONTENT_ID_FORM = 'must be 1 to 128 letters, digits or ._-@, without < and >';

/**
 * Faults of the names by which HTML shows files: a Content-ID that it does not name, and a `cid:` that no file has.
 * @param shown Content-IDs that the HTML names
 * @param path of the field that the HTML is from
 */
export function contentIdErrors(
  given: readonly { readonly contentId?: string | null | undefined }[],
  shown: readonly string[],
  path: string,
): AttachmentErrors {
  const missing = new Set(shown);
  const errors: Record<string, string> = {};
  for (const [index, { contentId }] of given.entries()) {
    if (contentId != null && !missing.delete(contentId))
      errors[`attachments[${index}].contentId`] = `is not shown: the HTML has no cid:${contentId}`;
  }
  const [first] = missing;
  if (first !== undefined) errors[path] = `shows cid:${first}, which is the contentId of no attachment`;
  return errors;
}
