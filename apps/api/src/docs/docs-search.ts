import MiniSearch, { type Query, type SearchOptions } from 'minisearch';
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
  'can',
  'do',
  'does',
  'for',
  'how',
  'i',
  'in',
  'is',
  'it',
  'my',
  'of',
  'on',
  'or',
  'the',
  'to',
  'what',
  'with',
]);
const isStopWord = (word: string): boolean => STOP_WORDS.has(word.toLowerCase());
const MOST = 20;
/** Weight of a passage whose heading is the query. */
const NAMED_EXACTLY = 10;
/** As many passages with all words of several leave a reader without what they look for. */
const FEW = 2;
const EXCERPT_BEFORE = 60;
const EXCERPT_AFTER = 140;

/** Letters of a word that may differ, as a share of it; three letters are taken as they are typed. */
const MISSPELT = (term: string): number | false => (term.length < 4 ? false : 0.3);

/** Spellings of a word with two neighbouring letters swapped: one mistake of a typist, but two letters that differ. */
const swapped = (word: string): string[] =>
  word.length < 4
    ? []
    : Array.from(word.slice(1), (letter, at) => word.slice(0, at) + letter + word[at] + word.slice(at + 2));

/** Searches the documentation by words, their beginnings and, with a letter or two of difference, their spelling. */
export class DocsSearch {
  readonly #index = new MiniSearch<Passage & { readonly id: number }>({
    fields: ['heading', 'name', 'page', 'text'],
    storeFields: ['address', 'page', 'heading', 'text'],
    processTerm: (term) => (isStopWord(term) ? null : term.toLowerCase()),
  });

  constructor(passages: readonly Passage[]) {
    this.#index.addAll(passages.map((passage, id) => ({ ...passage, id })));
  }

  /** Passages with all words of `query`, the best first; where there are few, then those with some of them, or with words spelt alike. */
  find(query: string): Finding[] {
    const words = MiniSearch.getDefault('tokenize')(query).filter((word: string) => !isStopWord(word));
    const boostDocument: SearchOptions['boostDocument'] = (_id, _term, stored) =>
      String(stored?.['heading']).toLowerCase() === query.toLowerCase() ? NAMED_EXACTLY : 1;
    const options = { boost: { name: 6, heading: 4, page: 2 }, boostDocument };
    const exact = this.#index.search({ combineWith: 'AND', queries: words }, { ...options, prefix: true });
    const alike = () => {
      const spelt = words.map((word: string): Query => {
        const swaps = { queries: swapped(word), fuzzy: false, prefix: false } as const;
        return { combineWith: 'OR', queries: [word, swaps] };
      });
      const isLong = (term: string) => term.length > 2;
      return this.#index.search({ queries: spelt }, { ...options, prefix: isLong, fuzzy: MISSPELT });
    };
    const isEnough = exact.length > (words.length > 1 ? FEW : 0);
    const ids = new Set(exact.map(({ id }) => id as number));
    const found = isEnough ? exact : [...exact, ...alike().filter(({ id }) => !ids.has(id as number))];
    return found.slice(0, MOST).map(({ address, page, heading, text, terms }) => ({
      address: String(address),
      page: String(page),
      heading: String(heading),
      excerpt: excerptOf(String(text), terms),
    }));
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
  if (found === null) return [beginningOf(text)];
  const end = found.index + found[0].length;
  const begin = Math.max(0, found.index - EXCERPT_BEFORE);
  const before = text.slice(begin, found.index).replace(begin === 0 ? '' : /^\S*\s/, '');
  return [before, found[0], beginningOf(text.slice(end))];
}

/** The text as far as an excerpt goes, without a word that would be cut. */
function beginningOf(text: string): string {
  const shown = text.slice(0, EXCERPT_AFTER);
  return shown === text ? text : shown.replace(/\s\S*$/, '');
}
