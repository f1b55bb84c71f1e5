const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;

const DELIMITERS = [',', ';', '\t'] as const;
export type CsvDelimiter = (typeof DELIMITERS)[number];

/**
 * What separates the cells: that of `,`, `;` and tab which the first line with text has most of outside quotes,
 * and a comma when it has none. Null when the line does not end in `text`; `isAll` says that no more will come.
 */
export function delimiterOf(text: string, isAll: boolean): CsvDelimiter | null {
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

function mostFrequent(counts: ReadonlyMap<string, number>): CsvDelimiter {
  const number = (delimiter: CsvDelimiter) => counts.get(delimiter) ?? 0;
  return DELIMITERS.reduce((best, candidate) => (number(candidate) > number(best) ? candidate : best), ',');
}
