import MiniSearch, { type SearchOptions } from 'minisearch';
import { sectionsOf } from './markdown.js';

/** A part of the documentation below one heading, or an operation of the API. */
export interface Passage {
  readonly address: string;
  /** Title of its page. */
  readonly page: string;
  readonly heading: string;
  /** Further names, such as `createSubscriber`. */
  readonly name?: string;
  readonly text: string;
}

export interface Finding extends Omit<Passage, 'text' | 'name'> {
  /** The text around the first word found, split at that word: every second piece is the word. */
  readonly excerpt: readonly string[];
}

/** Words too common to search for. */
const STOP_WORDS = new Set([
  'a',
  'an',
  'and',
  'by',
  'for',
  'in',
  'is',
  'it',
  'of',
  'on',
  'or',
  'the',
  'to',
  'with',
]);
const MOST = 20;
const EXCERPT_BEFORE = 60;
const EXCERPT_AFTER = 140;

/** Letters of a word that may differ, as a share of it; three letters are taken as they are typed. */
const MISSPELT = (term: string): number | false => (term.length < 4 ? false : 0.3);

/** Searches the documentation by words, their beginnings and, with a letter or two of difference, their spelling. */
export class DocsSearch {
  readonly #index = new MiniSearch<Passage & { readonly id: number }>({
    fields: ['heading', 'name', 'page', 'text'],
    storeFields: ['address', 'page', 'heading', 'text'],
    processTerm: (term) => (STOP_WORDS.has(term.toLowerCase()) ? null : term.toLowerCase()),
  });

  constructor(passages: readonly Passage[]) {
    this.#index.addAll(passages.map((passage, id) => ({ ...passage, id })));
  }

  /** Passages with all words of `query`, the best first; where there are none, those with words that are spelt alike. */
  find(query: string): Finding[] {
    const exact = this.#search(query, false);
    const found = exact.length > 0 ? exact : this.#search(query, MISSPELT);
    return found.slice(0, MOST).map(({ address, page, heading, text, terms }) => ({
      address: String(address),
      page: String(page),
      heading: String(heading),
      excerpt: excerptOf(String(text), terms),
    }));
  }

  #search(query: string, fuzzy: SearchOptions['fuzzy']) {
    const boost = { name: 6, heading: 4, page: 2 };
    return this.#index.search(query, { combineWith: 'AND', prefix: true, fuzzy: fuzzy ?? false, boost });
  }
}

/** The passages of a page. */
export function passagesOf(page: string, address: string, markdown: string): Passage[] {
  return sectionsOf(markdown).map(({ level, anchor, text, words }) => ({
    address: level === 1 ? address : `${address}#${anchor}`,
    page,
    heading: text,
    text: words,
  }));
}

function excerptOf(text: string, terms: readonly string[]): string[] {
  const words = terms.map((term) => term.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)).join('|');
  const found = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words})`, 'iu').exec(text);
  if (found === null) return [text.slice(0, EXCERPT_AFTER)];
  const end = found.index + found[0].length;
  const begin = Math.max(0, found.index - EXCERPT_BEFORE);
  const before = text.slice(begin, found.index).replace(begin === 0 ? '' : /^\S*\s/, '');
  return [before, found[0], text.slice(end, end + EXCERPT_AFTER).replace(/\s\S*$/, '')];
}
