import { type Answer, valueAt } from './answer.js';

const COLUMNS = 100;
const LINES = 6;
const LONGEST_TEXT = 60;
const MOST_ITEMS = 2;

/** A body in a few lines: cuts long texts and lists, and omits all paths but those in `only`, if given. */
export function shortBody(answer: Answer, only?: readonly string[]): string[] {
  if (answer.json !== undefined && only === undefined) return shortJson(answer.json);
  if (answer.json !== undefined && only !== undefined) return shortParts(answer, only);
  if (answer.text === '') return [];
  const title = /<title>([^<]*)<\/title>/i.exec(answer.text)?.[1];
  if (title !== undefined) return [`a page: ${plain(title.trim())}`];
  return firstLines(answer.text.split(/\r?\n/).filter((line) => line !== ''));
}

/** JSON in few lines. */
export function shortJson(value: unknown): string[] {
  const lines: string[] = [];
  for (const part of JSON.stringify(cut(value), null, 1).split('\n')) {
    const last = lines.at(-1);
    const joined = last === undefined ? part : `${last} ${part.trim()}`;
    if (last === undefined || joined.length > COLUMNS) lines.push(part.trim());
    else lines[lines.length - 1] = joined;
  }
  return firstLines(lines);
}

export function shortText(text: string, longest = COLUMNS): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

/** The names are whole paths with dots, so that nobody takes it for the whole body. */
function shortParts(answer: Answer, paths: readonly string[]): string[] {
  const parts = paths.map((path) => [path, valueAt(answer, path) ?? null]);
  return [...shortJson(Object.fromEntries(parts)), '…'];
}

function firstLines(lines: readonly string[]): string[] {
  const shown = lines.slice(0, LINES).map((line) => shortText(plain(line)));
  return lines.length > LINES ? [...shown, '…'] : shown;
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return shortText(value, LONGEST_TEXT);
  if (Array.isArray(value)) {
    const more = value.length - MOST_ITEMS;
    return [...value.slice(0, MOST_ITEMS).map(cut), ...(more > 0 ? [`… ${more} more`] : [])];
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cut(item)]));
}

/** Removes control characters, which a terminal would obey. */
function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ');
}
