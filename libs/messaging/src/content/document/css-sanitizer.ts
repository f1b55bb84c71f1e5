import {
  type ComponentValue,
  isSimpleBlockNode,
  parseListOfComponentValues,
  type SimpleBlockNode,
} from '@csstools/css-parser-algorithms';
import { type CSSToken, isToken, tokenize, TokenType } from '@csstools/css-tokenizer';
import type { MergeTagMask } from '../merge/merge-tags.js';
import { STYLE_FILTER } from '../merge/merge-output.js';

/** Properties, functions and rules that CSS of a mail must not hold; all else stays. */
export const DANGEROUS_CSS = {
  /** Run code in programs that still do. */
  properties: ['behavior', '-ms-behavior', '-moz-binding'],
  functions: ['expression'],
  /** Lift content out of its place, over the footer or over what is around the mail. */
  positions: ['absolute', 'fixed', 'sticky'],
  /** Load other style sheets. */
  rules: ['import'],
} as const;

/** Functions whose texts are addresses. */
const LOADING = /url|image|src|cross-fade|element/;
const WEB_URL = /^https?:\/\/[^'"\\<>]+$/i;

/** Context of a sanitiser, beside the masked source. */
export interface Sanitizing {
  readonly mask: MergeTagMask;
  /** Takes note of masked text that does not arrive. */
  readonly removed: (masked: string) => void;
  /** Images may be files that go with the mail (`cid:`). */
  readonly showsFiles: boolean;
}

/** Bounds of the note: different pieces of a mail, and characters of each. */
const MOST = 100;
const SHOWN = 80;

/** Collects what sanitising takes from a mail, for the check that names it: `contentJson.blocks[2].html: <script>`. */
export class RemovedContent {
  readonly #found = new Set<string>();

  constructor(private readonly mask: MergeTagMask) {}

  /** Takes note of masked text that stands at a path of the content and does not arrive. */
  at(path: string): (masked: string) => void {
    return (masked) => {
      const piece = this.mask.restore(masked, '{').replaceAll(/\s+/g, ' ').trim();
      const words = piece.length > SHOWN ? `${piece.slice(0, SHOWN).trimEnd()}…` : piece;
      if (this.#found.size < MOST) this.#found.add(`${path}: ${words}`);
    };
  }

  get list(): readonly string[] {
    return [...this.#found];
  }
}

/** Context of the sanitising of a whole mail. */
export interface Masking extends Pick<Sanitizing, 'mask' | 'showsFiles'> {
  readonly removed: RemovedContent;
}

// A placeholder as a name that CSS knows for one (css-syntax-3 §4.2); in the mask's own characters it is none.
const SHIELDS = /[\u{F0000}-\u{F0002}]/gu;
const OUTPUT = '\u{F0000}';
const END = '\u{F0001}';
const TAG = '\u{F0002}';
const A_TAG = /\u{F0002}\d+\u{F0001}/gu;

/** Masked CSS with tags as words of their own, so that what stands before and behind one never becomes one word. */
const shielded = (masked: string): string =>
  masked
    .replaceAll(SHIELDS, '')
    .replaceAll(/\uFDD2(\d+)\uFDD1/g, ` ${TAG}$1${END} `)
    .replaceAll(/\uFDD0(\d+)\uFDD1/g, `${OUTPUT}$1${END}`);

const unshielded = (css: string): string =>
  css.replaceAll(OUTPUT, '\uFDD0').replaceAll(END, '\uFDD1').replaceAll(TAG, '\uFDD2');

const parsed = (masked: string): ComponentValue[] =>
  parseListOfComponentValues(tokenize({ css: shielded(masked) }));

/** Masked declarations of a `style` attribute without what is dangerous; values of merge tags in them are guarded. */
export function sanitizeDeclarations(masked: string, sanitizing: Sanitizing): string {
  if (!sanitizing.mask.isWhole(masked)) {
    sanitizing.removed(`style with a merge tag that ends outside of it: ${masked}`);
    return '';
  }
  const css = unshielded(declarations(parsed(masked), sanitizing)).trim();
  return sanitizing.mask.filtered(css, STYLE_FILTER);
}

/** A masked style sheet without what is dangerous. It holds no `</`, so that no parser ends it early. */
export function sanitizeStyleSheet(masked: string, sanitizing: Sanitizing): string {
  if (!sanitizing.mask.isWhole(masked)) {
    sanitizing.removed('style sheet with a merge tag that ends outside of it');
    return '';
  }
  return sanitizing.mask.filtered(unshielded(rules(parsed(masked), sanitizing)).trim(), STYLE_FILTER);
}

/** True when a value that becomes the value of one declaration, or a part of it, does no harm. */
export function isHarmlessValue(masked: string): boolean {
  const nodes = parsed(masked);
  return !/[;{}]/.test(masked) && faultIn(tokensOf(nodes)) === null;
}

/** True when masked declarations hold nothing that `sanitizeDeclarations` would take away. */
export const areHarmlessDeclarations = (masked: string): boolean =>
  split(parsed(masked)).every((nodes) => isDeclarationHarmless(nodes));

const isDeclarationHarmless = (nodes: readonly ComponentValue[]): boolean =>
  tokensOf(nodes).every(isBlank) || faultIn(tokensOf(nodes)) === null;

function rules(nodes: readonly ComponentValue[], sanitizing: Sanitizing): string {
  let css = '';
  let prelude: ComponentValue[] = [];
  for (const node of nodes) {
    if (isBlock(node)) {
      css += rule(tokensOf(prelude), node.value, sanitizing);
      prelude = [];
    } else if (isOf(node, TokenType.Semicolon)) {
      css += statement(tokensOf(prelude), sanitizing);
      prelude = [];
    } else if (!isOf(node, TokenType.CDO) && !isOf(node, TokenType.CDC)) prelude.push(node);
  }
  return css + statement(tokensOf(prelude), sanitizing);
}

function rule(prelude: readonly CSSToken[], body: readonly ComponentValue[], sanitizing: Sanitizing): string {
  const { tags, rest } = withTagsAhead(prelude);
  const name = rest[0]?.[0] === TokenType.AtKeyword ? rest[0][4].value.toLowerCase() : null;
  const inside = textOf(body.flatMap((node) => node.tokens()));
  if (isDangerousRule(name) || preludeFault(rest) !== null || !sanitizing.mask.isWhole(unshielded(inside))) {
    sanitizing.removed(unshielded(`${textOf(rest).trim()} {…}`));
    return tags + tagsOf(textOf(rest) + inside);
  }
  const isGroup = name !== null && body.some(isBlock);
  const content = isGroup ? rules(body, sanitizing) : declarations(body, sanitizing);
  return `${tags}${textOf(rest).trim()}{${content}}\n`;
}

const isBlock = (node: ComponentValue): node is SimpleBlockNode =>
  isSimpleBlockNode(node) && node.startToken[0] === TokenType.OpenCurly;

const isDangerousRule = (name: string | null): boolean =>
  name !== null && (DANGEROUS_CSS.rules as readonly string[]).includes(name);

/** Tags that stand before a rule belong to the rules around it. */
function withTagsAhead(tokens: readonly CSSToken[]): { tags: string; rest: CSSToken[] } {
  const at = tokens.findIndex((token) => !isBlank(token) && !isTag(token));
  const ahead = at < 0 ? tokens : tokens.slice(0, at);
  return { tags: textOf(ahead.filter(isTag)), rest: at < 0 ? [] : tokens.slice(at) };
}

/** A prelude holds no merge tag and no beginning of markup. */
const preludeFault = (tokens: readonly CSSToken[]): string | null => {
  const text = textOf(tokens);
  return text.includes(TAG) || text.includes(OUTPUT) || /<[!/?a-z]/i.test(text) ? text : null;
};

/** A statement without a block, such as `@import` and `@layer`, or what is no CSS at all. */
function statement(tokens: readonly CSSToken[], { removed }: Sanitizing): string {
  const { tags, rest } = withTagsAhead(tokens);
  const [first, ...parameters] = rest;
  if (first === undefined) return tags;
  const text = textOf(rest);
  const name = first[0] === TokenType.AtKeyword ? first[4].value.toLowerCase() : null;
  // The encoding is that of the mail.
  if (name === 'charset') return tags;
  const isSound =
    name !== null && !isDangerousRule(name) && preludeFault(rest) === null && faultIn(parameters) === null;
  if (isSound) return `${tags}${text.trim()};\n`;
  removed(unshielded(text));
  return tags + tagsOf(text);
}

function declarations(nodes: readonly ComponentValue[], { removed }: Sanitizing): string {
  const kept: string[] = [];
  for (const declaration of split(nodes)) {
    const tokens = tokensOf(declaration);
    const text = textOf(tokens);
    if (isDeclarationHarmless(declaration)) kept.push(text.trim());
    else {
      removed(unshielded(text.replaceAll(A_TAG, ' ')));
      kept.push(tagsOf(text));
    }
  }
  return kept.filter((css) => css !== '').join(';');
}

function split(nodes: readonly ComponentValue[]): ComponentValue[][] {
  const parts: ComponentValue[][] = [[]];
  for (const node of nodes) {
    if (isOf(node, TokenType.Semicolon)) parts.push([]);
    else parts.at(-1)?.push(node);
  }
  return parts;
}

/** The first thing in a declaration that must not be there. */
function faultIn(tokens: readonly CSSToken[]): string | null {
  const inTags = tokens.some(isTag);
  const functions: string[] = [];
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    if (isOpening(token)) {
      depth += 1;
      functions[depth] = token[0] === TokenType.Function ? token[4].value.toLowerCase() : '';
    }
    if (isClosing(token)) depth -= 1;
    if (depth < 0 || isBroken(token) || holdsHiddenTag(token) || isActive(token)) return token[1];
    if (token[0] === TokenType.URL && !isWebUrl(token[4].value)) return token[1];
    const isAddress = functions.slice(1, depth + 1).some((name) => LOADING.test(name));
    if (token[0] === TokenType.String && isAddress && !isWebUrl(token[4].value)) return token[1];
    if (isTag(token) && depth > 0) return token[1];
    if (token[0] === TokenType.Ident && isDangerousName(token, tokens.slice(at + 1), inTags)) return token[1];
  }
  const text = textOf(tokens);
  return depth === 0 && !/<[!/?a-z]/i.test(text) ? positionIn(tokens) : text;
}

/** Stand in front of a colon as a property does. */
const SCHEMES = new Set(['javascript', 'vbscript']);

/** A property that must not be; among tags each word may turn out to be one. */
function isDangerousName(token: CSSToken, behind: readonly CSSToken[], inTags: boolean): boolean {
  const name = nameOf(token).replace(/^_+/, '');
  const isProperty = behind.find((other) => !isBlank(other) && !isTag(other))?.[0] === TokenType.Colon;
  if (isProperty && name.includes(OUTPUT)) return true;
  return (
    (isProperty || inTags) &&
    (SCHEMES.has(name) || (DANGEROUS_CSS.properties as readonly string[]).includes(name))
  );
}

function positionIn(tokens: readonly CSSToken[]): string | null {
  const names = tokens.filter((token) => token[0] === TokenType.Ident).map(nameOf);
  if (!names.includes('position')) return null;
  const isPlain = names.every((name) => !name.includes(OUTPUT));
  const found = names.find((name) => (DANGEROUS_CSS.positions as readonly string[]).includes(name));
  return isPlain ? (found ?? null) : 'position';
}

const isWebUrl = (url: string): boolean =>
  WEB_URL.test(url.trim()) && !/^https?:\/\/\u{F0000}/iu.test(url.trim());

/** Runs code, or is put together of a merge tag's value. */
const isActive = (token: CSSToken): boolean =>
  token[0] === TokenType.Function &&
  (token[4].value.includes(OUTPUT) ||
    (DANGEROUS_CSS.functions as readonly string[]).includes(token[4].value.toLowerCase()));

const BROKEN: ReadonlySet<TokenType> = new Set([
  TokenType.BadString,
  TokenType.BadURL,
  TokenType.CDO,
  TokenType.CDC,
  TokenType.OpenCurly,
  TokenType.CloseCurly,
  TokenType.AtKeyword,
]);
const isBroken = (token: CSSToken): boolean => BROKEN.has(token[0]);

const isOpening = ([type]: CSSToken): boolean =>
  type === TokenType.Function || type === TokenType.OpenParen || type === TokenType.OpenSquare;
const isClosing = ([type]: CSSToken): boolean =>
  type === TokenType.CloseParen || type === TokenType.CloseSquare;

/** A tag inside of a text or an address would decide where that ends. */
const holdsHiddenTag = (token: CSSToken): boolean => token[1].includes(TAG) && !isTag(token);
const isTag = (token: CSSToken): boolean =>
  token[0] === TokenType.Ident && /^\u{F0002}\d+\u{F0001}$/u.test(token[1]);
const isBlank = ([type]: CSSToken): boolean => type === TokenType.Whitespace;

const nameOf = (token: CSSToken): string =>
  token[0] === TokenType.Ident ? token[4].value.toLowerCase() : '';

const isOf = (node: ComponentValue, type: TokenType): boolean =>
  'value' in node && isToken(node.value) && node.value[0] === type;

/** Without comments, which a value or a tag could end elsewhere. */
const tokensOf = (nodes: readonly ComponentValue[]): CSSToken[] =>
  nodes
    .flatMap((node) => node.tokens())
    .filter(([type]) => type !== TokenType.Comment && type !== TokenType.EOF);

/** In single quotes where they can be: the attribute has double ones. */
const textOf = (tokens: readonly CSSToken[]): string =>
  tokens
    .map(([type, text]) =>
      type === TokenType.String && text.startsWith('"') && !text.includes("'")
        ? `'${text.slice(1, text.length > 1 && text.endsWith('"') ? -1 : undefined)}'`
        : text,
    )
    .join('');

const tagsOf = (css: string): string => (css.match(A_TAG) ?? []).join(' ');
