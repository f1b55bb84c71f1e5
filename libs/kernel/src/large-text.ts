/** An escape of JSON (RFC 8259 §7): of a character by its number, or of one by itself. */
const ESCAPE = /\\(?:u([0-9a-f]{4})|(.))/gis;
// eslint-disable-next-line no-control-regex -- those that JSON does not take in a text
const CONTROL = /[\u0000-\u001f]/;
const SHORT: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * A text of JSON in the parts in which it came, so that a file of some megabytes is not held as one string more. No part ends within
 * an escape.
 */
export class LargeText {
  /** @param parts octets between the quotes @param digest the same for the same text */
  constructor(
    private readonly parts: readonly Buffer[],
    private readonly digest: string,
  ) {}

  /** Octets of the JSON, of which there are at least as many as the text has characters. */
  get length(): number {
    return this.parts.reduce((sum, { length }) => sum + length, 0);
  }

  /** Part by part, as Latin-1: ASCII is itself, and no other character becomes ASCII. One that is no JSON is NUL. */
  *chunks(): Generator<string> {
    for (const part of this.parts) yield unescapedText(part) ?? '\0';
  }

  /** The whole. @throws {SyntaxError} where it is no JSON, and TypeError where it is no UTF-8 */
  toString(): string {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(this.parts));
    return JSON.parse(`"${text}"`) as string;
  }

  /** Digest that stands for the text where requests are compared. */
  toJSON(): string {
    return this.digest;
  }
}

/**
 * The octets as Latin-1, with escapes as the characters that they stand for; for one past Latin-1 stands its number. Null where they
 * are no text of JSON: a control character, or an escape that there is not.
 */
export function unescapedText(json: Buffer): string | null {
  const text = json.toString('latin1');
  if (CONTROL.test(text)) return null;
  if (!text.includes('\\')) return text;
  let isJson = true;
  const unescaped = text.replaceAll(ESCAPE, (_, code: string | undefined, character: string) => {
    if (code === undefined) {
      isJson &&= '"\\/bfnrt'.includes(character);
      return SHORT[character] ?? character;
    }
    const number = Number.parseInt(code, 16);
    return number < 0x1_00 ? String.fromCharCode(number) : `\u00bf${code}`;
  });
  return isJson ? unescaped : null;
}
