import { ImportNotReadableError } from './import.errors.js';

/** Byte order marks (Unicode §23.8), which say more than what the client says. */
const MARKS = [
  { mark: [0xef, 0xbb, 0xbf], charset: 'utf-8' },
  { mark: [0xff, 0xfe], charset: 'utf-16le' },
  { mark: [0xfe, 0xff], charset: 'utf-16be' },
] as const;
const LONGEST_MARK = 3;
const REPLACEMENT = '\ufffd';

/** Whether it is the name of an encoding (WHATWG Encoding §4.2), such as `windows-1252`. */
export function isCharset(name: string): boolean {
  try {
    return new TextDecoder(name).encoding !== '';
  } catch {
    return false;
  }
}

/**
 * Decodes a file piece by piece, and the end without one: by its byte order mark, which it takes away, else by `charset`. Throws
 * ImportNotReadableError for bytes that are no text; `line` tells where the piece begins.
 */
export function textDecoder(charset: string, line: () => number): (bytes?: Uint8Array) => string {
  let head = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  return (bytes) => {
    let given = bytes ?? Buffer.alloc(0);
    if (decoder === null) {
      head = Buffer.concat([head, given]);
      if (head.length < LONGEST_MARK && bytes !== undefined) return '';
      decoder = new TextDecoder(markedCharset(head) ?? charset, { fatal: true });
      given = head;
    }
    try {
      return decoder.decode(given, { stream: bytes !== undefined });
    } catch {
      throw notText(decoder.encoding, line() + breaksBefore(decoder.encoding, given));
    }
  };
}

function markedCharset(head: Buffer): string | null {
  return MARKS.find(({ mark }) => mark.every((byte, at) => head[at] === byte))?.charset ?? null;
}

function breaksBefore(encoding: string, bytes: Uint8Array): number {
  const text = new TextDecoder(encoding).decode(bytes).split(REPLACEMENT, 1)[0]!;
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}

function notText(encoding: string, line: number): ImportNotReadableError {
  const otherwise = 'name its encoding, as in Content-Type: text/csv; charset=windows-1252';
  return new ImportNotReadableError({
    body: `is not ${encoding.toUpperCase()}, in line ${line} or behind it: ${otherwise}`,
  });
}
