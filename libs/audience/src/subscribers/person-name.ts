/** Quotes that programs leave around a whole name when they export or import it once too often; the single ones are letters, too. */
const PAIRS: ReadonlySet<string> = new Set(['""', '“”', '„“', '„”', '«»']);

/** Most names: ASCII, and neither a space nor a quote at the ends. An import asks for each of its rows. */
const NORMAL = /^[!#-~](?:[ -~]*[!#-~])?$/;

/**
 * A first or last name as it is stored, searched and compared: Unicode NFC, without spaces and pairs of quotes around it. So
 * ` "José" ` is the same name as José.
 */
export function normalizedName(text: string): string {
  if (NORMAL.test(text)) return text;
  let from = 0;
  let to = text.length;
  for (;;) {
    while (from < to && isSpace(text.charAt(from))) from += 1;
    while (from < to && isSpace(text.charAt(to - 1))) to -= 1;
    if (to - from < 2 || !PAIRS.has(text.charAt(from) + text.charAt(to - 1))) break;
    from += 1;
    to -= 1;
  }
  return text.slice(from, to).normalize('NFC');
}

function isSpace(character: string): boolean {
  return character.trim() === '';
}
