import type { Attachment, decodeWords, Email } from 'postal-mime';

/** The parts of a mail that a report can be made of. */
export interface ReportParts {
  /** The first of each name, which is in lower case; encoded words (RFC 2047) are decoded. */
  readonly headers: ReadonlyMap<string, string>;
  /** The text for a person. */
  readonly text: string;
  /** message/delivery-status (RFC 3464 §2). */
  readonly deliveryStatus: string | null;
  /** message/feedback-report (RFC 5965 §3). */
  readonly feedbackReport: string | null;
  /** The returned message, or its headers. */
  readonly returned: string | null;
}

/**
 * Limits of reading: all that matters of a report stands before the returned message. Lines and equals signs are
 * bounded as well, since each line, and each unit of base64 that such a sign ends, costs the parser a piece of memory.
 */
const LOOKED_AT = { bytes: 128 * 1024, lines: 2_000, equals: 6_000 };
const LIMITS = { maxNestingDepth: 8, maxHeadersSize: 64 * 1024, forceRfc822Attachments: true };
const MAX_TEXT = 32 * 1024;

const DELIVERY_STATUS = /^message\/(?:x-|global-)?delivery-status$/;
const FEEDBACK_REPORT = /^message\/feedback-report$/;
const RETURNED = /^(?:message\/rfc822|message\/global|text\/rfc822-headers?|message\/global-headers)$/;

/** Takes a mail apart; null when it is none. Never rejects. */
export async function reportPartsOf(raw: Uint8Array): Promise<ReportParts | null> {
  try {
    // Loaded by who reads reports: the api loads this file too.
    const { default: PostalMime, decodeWords: decode } = await import('postal-mime');
    const beginning = beginningOf(raw);
    return partsOf(await PostalMime.parse(beginning, LIMITS), beginning, decode);
  } catch {
    // Beyond the limits, or not MIME: then it is no report.
    return null;
  }
}

function beginningOf(raw: Uint8Array): Uint8Array {
  let [lines, equals] = [0, 0];
  const most = Math.min(raw.length, LOOKED_AT.bytes);
  for (let at = 0; at < most; at += 1) {
    if (raw[at] === 0x0a) lines += 1;
    if (raw[at] === 0x3d) equals += 1;
    if (lines > LOOKED_AT.lines || equals > LOOKED_AT.equals) return raw.subarray(0, at);
  }
  return raw.subarray(0, most);
}

function partsOf(
  { headers, text, html, attachments }: Email,
  raw: Uint8Array,
  decode: typeof decodeWords,
): ReportParts {
  const named = (type: RegExp) => textOf(attachments.find(({ mimeType }) => type.test(mimeType)));
  const read = text ?? (html === undefined ? '' : wordsOf(html));
  return {
    headers: new Map(headers.toReversed().map(({ key, value }) => [key, decode(value)])),
    text: (read.trim() === '' && attachments.length === 0 ? bodyOf(raw) : read).slice(0, MAX_TEXT),
    deliveryStatus: named(DELIVERY_STATUS),
    feedbackReport: named(FEEDBACK_REPORT),
    returned: named(RETURNED),
  };
}

/** The text of an HTML page. */
function wordsOf(html: string): string {
  return html
    .slice(0, MAX_TEXT)
    .replaceAll(/<(?:style|script)\b[^<>]*>[^<]*/gi, ' ')
    .replaceAll(/<(?:br|\/?p|\/div|\/tr)\b[^<>]*>/gi, '\n')
    .replaceAll(/<(?![^\s<>]{1,64}@)[^<>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&');
}

/** The body as it stands: a report whose parts were cut, or whose boundary was changed on the way, has its words still. */
function bodyOf(raw: Uint8Array): string {
  const text = decoded(raw);
  const start = /\r?\n\r?\n/.exec(text)?.index ?? 0;
  return text.slice(start, start + MAX_TEXT);
}

/** Fields are ASCII or UTF-8 (RFC 6533); Japanese servers write ISO-2022-JP into them. */
function decoded(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('utf8');
  if (text.includes('\u001b$')) return new TextDecoder('iso-2022-jp').decode(bytes);
  return text.includes('\ufffd') ? Buffer.from(bytes).toString('latin1') : text;
}

function textOf(part: Attachment | undefined): string | null {
  if (part === undefined) return null;
  if (typeof part.content === 'string') return part.content.slice(0, MAX_TEXT);
  return decoded(new Uint8Array(part.content as ArrayBuffer).subarray(0, MAX_TEXT));
}

/** Fields by their names in lower case; the first of a name counts. */
export type Fields = ReadonlyMap<string, string>;

const MAX_GROUPS = 50;
const MAX_FIELDS = 200;
const MAX_VALUE = 4_000;

/** The groups of fields of a report, which empty lines part (RFC 3464 §2.1). */
export function fieldGroupsOf(text: string): Fields[] {
  return text
    .split(/\r?\n[\t ]*\r?\n/, MAX_GROUPS)
    .map(fieldsOf)
    .filter((fields) => fields.size > 0);
}

/** The fields of one group; lines that begin with white space go on the one before (RFC 5322 §2.2.3). */
export function fieldsOf(text: string): Fields {
  const fields = new Map<string, string>();
  let current = '';
  for (const line of text.split(/\r?\n/, MAX_FIELDS)) {
    const [, name, value] = /^([!-9;-~]{1,100}):(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) {
      current = fields.has(name.toLowerCase()) ? '' : name.toLowerCase();
      if (current !== '') fields.set(current, value.trim().slice(0, MAX_VALUE));
    } else if (current !== '' && /^[\t ]/.test(line)) {
      const longer = `${fields.get(current) ?? ''} ${line.trim()}`.trim();
      fields.set(current, longer.slice(0, MAX_VALUE));
    }
  }
  return fields;
}

/** The fields before the first empty line. */
export function headerFieldsOf(message: string): Fields {
  return fieldsOf(message.split(/\r?\n[\t ]*\r?\n/, 1)[0] ?? '');
}
