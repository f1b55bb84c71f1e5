/** A header field as it stands in a message. */
export interface HeaderField {
  readonly name: string;
  /** Lower case, as fields are told apart. */
  readonly key: string;
  /** What follows the colon, folded as it was, without the last line end. */
  readonly value: string;
}

/** A message that cannot be signed. */
export class UnsignableMessageError extends Error {
  override readonly name = 'UnsignableMessageError';
}

const FIELD = /^([!-9;-~]+)[ \t]*:([^]*)$/;

/**
 * The fields of a header section, in order. `head` has one character a byte (latin1), so that bytes survive.
 * @throws {UnsignableMessageError} when a line is no field and no continuation
 */
export function headerFields(head: string): HeaderField[] {
  return head.split(/\r\n(?![ \t])/).map((text) => {
    const match = FIELD.exec(text);
    if (match === null) throw new UnsignableMessageError('A line of the header section is no header field.');
    const [, name = '', value = ''] = match;
    return { name, key: name.toLowerCase(), value };
  });
}

/** The field as the relaxed canonicalisation has it, without its line end (RFC 6376 §3.4.2). */
export function relaxedField({ key, value }: Pick<HeaderField, 'key' | 'value'>): string {
  // Most fields are one line with a space after the colon and no run of blanks.
  const single = IRREGULAR.test(value) ? value.replaceAll(BLANKS, ' ') : value;
  const from = single.startsWith(' ') ? 1 : 0;
  return `${key}:${single.slice(from, single.endsWith(' ') ? Math.max(from, single.length - 1) : single.length)}`;
}

const IRREGULAR = /[\t\r]| {2}/;
const BLANKS = /(?:\r\n(?=[ \t])|[ \t])+/g;
