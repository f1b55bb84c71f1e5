const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;

const DELIMITERS = [',', ';', '\t'] as const;
/** Excel's own first line, by which it separates cells itself: `sep=;`. */
const EXCEL_HINT = /^sep=([^"\r\n])(?:\r\n|\n|\r)/i;
const LONGEST_HINT = 'sep=;\r\n'.length;

export interface CsvDialect {
  readonly delimiter: string;
  /** Characters of a first line that only names the delimiter. */
  readonly hintLength: number;
}

/**
 * The separator of cells: the one that a first line `sep=;` names, else that of `,`, `;` and tab which the first line with
 * text has most of outside quotes, and a comma when it has none. Null when that line does not end in `text`; `isAll` says that
 * no more will come.
 */
export function dialectOf(text: string, isAll: boolean): CsvDialect | null {
  if (text.length < LONGEST_HINT && !isAll) return null;
  const hint = EXCEL_HINT.exec(text);
  if (hint !== null) return { delimiter: hint[1]!, hintLength: hint[0].length };
  const delimiter = delimiterOf(text, isAll);
  return delimiter === null ? null : { delimiter, hintLength: 0 };
}

function delimiterOf(text: string, isAll: boolean): string | null {
  const counts = new Map<string, number>(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  let isBlank = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isQuoted = !isQuoted;
    else if (!isQuoted && (code === LINE_FEED || code === CARRIAGE_RETURN)) {
      if (!isBlank) return mostFrequent(counts);
      continue;
    } else if (!isQuoted) {
      const character = text.charAt(at);
      const count = counts.get(character);
      if (count !== undefined) counts.set(character, count + 1);
    }
    isBlank = false;
  }
  return isAll ? mostFrequent(counts) : null;
}

function mostFrequent(counts: ReadonlyMap<string, number>): string {
  const number = (delimiter: string) => counts.get(delimiter) ?? 0;
  return DELIMITERS.reduce<string>(
    (best, candidate) => (number(candidate) > number(best) ? candidate : best),
    ',',
  );
}
