import { color, serializeRGB } from '@csstools/css-color-parser';
import {
  type ComponentValue,
  isSimpleBlockNode,
  parseListOfComponentValues,
} from '@csstools/css-parser-algorithms';
import { tokenize } from '@csstools/css-tokenizer';
import { Parser } from 'htmlparser2';
import { contrastRatio } from '#kernel';
import { withInlineStyles } from './content-compiler.js';
import { styleWork } from './content-document.js';
import type { Attributes } from './inert-elements.js';
import { MergeTagMask, withoutPlaceholders } from '../merge/merge-tags.js';

/** Below it nobody tells letters from their background; WCAG 1.4.3 asks for 4.5. */
const LEAST_CONTRAST = 1.5;
/** Applying style sheets may cost a quarter of what inlining them may. */
const MOST_WORK = 50_000;
const MOST_FOUND = 20;
const SHOWN = 40;

/** Colours of a mail that sets none. */
const CANVAS = {
  light: { background: '#ffffff', text: '#000000', link: '#0000ee' },
  // Chromium's colours of `color-scheme: dark`.
  dark: { background: '#121212', text: '#ffffff', link: '#9e9eff' },
} as const;

type Scheme = keyof typeof CANVAS;

/** Readability of a mail. */
export interface ReadableText {
  /** Words that have nearly the colour of their background, with both colours. */
  readonly unreadable: readonly string[];
  /** The sought link can be seen. */
  readonly showsLink: boolean;
}

/** Link that a reader must see. */
export interface SoughtLink {
  /** True for its `href`. */
  readonly isTarget: (url: string) => boolean;
  /** True for words that a reader can copy it from. */
  readonly isIn: (words: string) => boolean;
}

const UNSUBSCRIBE_TAG = /^\{\{-?\s*links\.unsubscribe\b/;
const UNSUBSCRIBE: SoughtLink = { isTarget: (url) => UNSUBSCRIBE_TAG.test(url), isIn: () => false };

/**
 * Looks at each text of compiled HTML on its background, in light and in dark, with the mail's style sheets applied as on a wide
 * screen; not at text over an image or in colours that a merge tag decides. Null where applying the sheets would take too much.
 */
export async function readableText(html: string, link = UNSUBSCRIBE): Promise<ReadableText | null> {
  const mask = new MergeTagMask();
  const masked = mask.hide(html);
  const page = pageOf(masked);
  const looks: Record<Scheme, ReadableText | null> = { light: null, dark: null };
  for (const scheme of ['light', 'dark'] as const) {
    const css = rulesFor(parsed(page.css), scheme);
    if (styleWork(css, page.elements) > MOST_WORK) return null;
    // Decoded: else a character reference in a font's name ends a declaration.
    const styled = css === '' ? masked : await withInlineStyles(masked, css, true);
    looks[scheme] = lookAt(styled, { scheme: page.followsReader ? scheme : 'light', mask, link });
  }
  const { light, dark } = looks;
  return {
    unreadable: named(light?.unreadable ?? [], dark?.unreadable ?? []).slice(0, MOST_FOUND),
    showsLink: light?.showsLink === true && dark?.showsLink === true,
  };
}

/** Each text once, with the scheme in which it cannot be read when that is only one of the two. */
const named = (light: readonly string[], dark: readonly string[]): string[] => [
  ...light.map((words) => (dark.includes(words) ? words : `${words} in light`)),
  ...dark.filter((words) => !light.includes(words)).map((words) => `${words} in dark`),
];

const parsed = (css: string): ComponentValue[] => parseListOfComponentValues(tokenize({ css }));

/** The style sheets of a mail, its size, and whether it says that it has a dark look. */
function pageOf(masked: string): { css: string; elements: number; followsReader: boolean } {
  const page = { css: '', elements: 0, followsReader: false };
  let inStyle = false;
  const parser = new Parser({
    onopentag: (tag, { name = '', content = '' }) => {
      page.elements += 1;
      inStyle = tag === 'style';
      if (tag === 'meta' && name.toLowerCase() === 'color-scheme') page.followsReader = /dark/i.test(content);
    },
    ontext: (text) => {
      if (inStyle) page.css += text;
    },
    onclosetag: () => {
      inStyle = false;
    },
  });
  parser.end(masked);
  return page;
}

/** Properties that decide what can be seen. */
const SEEN =
  /^(?:color|background(?:-color|-image)?|display|visibility|opacity|font-size|max-height|height|overflow)$/;

/** The rules that hold on a wide screen of that scheme, with the properties that matter only. */
function rulesFor(nodes: readonly ComponentValue[], scheme: Scheme): string {
  let css = '';
  let prelude = '';
  for (const node of nodes) {
    if (!isSimpleBlockNode(node) || node.startToken[1] !== '{') {
      prelude = node.toString() === ';' ? '' : prelude + node.toString();
      continue;
    }
    const head = prelude.replaceAll(/\/\*[^]*?\*\/|<!--|-->/g, '').trim();
    prelude = '';
    if (/^@(?:media|supports|layer)/i.test(head))
      css += applies(head, scheme) ? rulesFor(node.value, scheme) : '';
    else if (!head.startsWith('@')) css += ruleOf(head, node.value);
  }
  return css;
}

function ruleOf(selectors: string, body: readonly ComponentValue[]): string {
  const seen = [...declarationsOf(body)].filter(([property]) => SEEN.test(property));
  return seen.length === 0
    ? ''
    : `${selectors}{${seen.map(([property, value]) => `${property}:${value}`).join(';')}}\n`;
}

function applies(condition: string, scheme: Scheme): boolean {
  const asked = /prefers-color-scheme\s*:\s*(dark|light)/i.exec(condition)?.[1]?.toLowerCase();
  if (asked !== undefined && asked !== scheme) return false;
  return !/max-(?:device-)?width|\bprint\b|yahoo|<=?|\bnot\b/i.test(condition);
}

/** Values by property in lower case; the last one counts. */
function declarationsOf(nodes: readonly ComponentValue[]): Map<string, string> {
  const found = new Map<string, string>();
  let text = '';
  const end = (): void => {
    const at = text.indexOf(':');
    if (at > 0) found.set(text.slice(0, at).trim().toLowerCase(), text.slice(at + 1).trim());
    text = '';
  };
  for (const node of nodes) {
    if (node.toString() === ';') end();
    else if (!node.toString().startsWith('/*')) text += node.toString();
  }
  end();
  return found;
}

/** Style that an element hands down. Null: it cannot be known. */
interface Look {
  readonly text: string | null;
  readonly background: string | null;
  readonly hidden: boolean;
  readonly tiny: boolean;
  readonly inLink: boolean;
}

interface Viewing {
  /** The colours of the canvas. */
  readonly scheme: Scheme;
  readonly mask: MergeTagMask;
  readonly link: SoughtLink;
}

const UNSEEN_TAGS = new Set(['head', 'title', 'style', 'script', 'noscript', 'template']);
/** Characters that show nothing. */
const BLANK = /[\s\p{Cf}\u034f\u00a0\u2800]+/gu;

function lookAt(styled: string, { scheme, mask, link }: Viewing): ReadableText {
  const unreadable = new Set<string>();
  let showsLink = false;
  const { background, text } = CANVAS[scheme];
  const looks: Look[] = [{ text, background, hidden: false, tiny: false, inLink: false }];
  const top = (): Look => looks.at(-1) ?? (looks[0] as Look);
  const parser = new Parser({
    onopentag: (tag, attribs) => {
      const look = lookOf(tag, attribs, { parent: top(), scheme });
      const isLink = tag === 'a' && link.isTarget(mask.restore(attribs['href'] ?? '', '{').trim());
      looks.push({ ...look, inLink: look.inLink || isLink });
      if (tag === 'img' && !look.hidden) showsLink ||= look.inLink;
    },
    ontext: (words) => {
      const look = top();
      if (look.hidden || look.tiny || words.replaceAll(BLANK, '') === '') return;
      const isReadable =
        look.text === null ||
        look.background === null ||
        contrastRatio(look.text, look.background) >= LEAST_CONTRAST;
      if (isReadable) showsLink ||= look.inLink || link.isIn(mask.restore(words, '{'));
      else if (withoutPlaceholders(words).replaceAll(BLANK, '') !== '' || mask.soleOutput(words) !== null)
        unreadable.add(describe(mask.restore(words, '{'), look));
    },
    onclosetag: () => void looks.pop(),
  });
  parser.end(styled);
  return { unreadable: [...unreadable], showsLink };
}

function describe(words: string, { text, background }: Look): string {
  const plain = words.replaceAll(BLANK, ' ').trim();
  const start = plain.length > SHOWN ? `${plain.slice(0, SHOWN).trimEnd()}…` : plain;
  return `"${start}" (${text} on ${background})`;
}

function lookOf(
  tag: string,
  attribs: Attributes,
  { parent, scheme }: { readonly parent: Look; readonly scheme: Scheme },
): Look {
  const style = declarationsOf(parsed(attribs['style'] ?? ''));
  const isDecidedByTag = /\uFDD2/.test(attribs['style'] ?? '');
  const text = textColour(tag, attribs, { style, parent, scheme });
  const background = backgroundOf(attribs, style, parent.background);
  return {
    text: isDecidedByTag ? null : text,
    background: isDecidedByTag ? null : background,
    hidden: parent.hidden || UNSEEN_TAGS.has(tag) || attribs['hidden'] !== undefined || isHidden(style),
    tiny: isTiny(style.get('font-size'), parent.tiny),
    inLink: parent.inLink,
  };
}

function isHidden(style: ReadonlyMap<string, string>): boolean {
  const is = (property: string, value: RegExp) => value.test(style.get(property) ?? '');
  return (
    is('display', /^none\b/i) ||
    is('visibility', /^(?:hidden|collapse)\b/i) ||
    Number.parseFloat(style.get('opacity') ?? '1') === 0 ||
    (is('overflow', /^hidden\b/i) && (is('max-height', ZERO) || is('height', ZERO)))
  );
}

const ZERO = /^0(?:\.0+)?(?:px|em|rem|pt|%)?(?:\s*!important)?$/i;

/** Letters of one pixel are a way to hide them, and of none the way of MJML to close gaps between cells. */
function isTiny(size: string | undefined, inherited: boolean): boolean {
  if (size === undefined || /^(?:inherit|unset)\b/i.test(size)) return inherited;
  return /^(?:0|0?\.\d+|1)(?:\.\d+)?(?:px|pt)?(?:\s*!important)?$/i.test(size) || ZERO.test(size);
}

function textColour(
  tag: string,
  attribs: Attributes,
  { style, parent, scheme }: { style: ReadonlyMap<string, string>; parent: Look; scheme: Scheme },
): string | null {
  const attribute = tag === 'font' ? attribs['color'] : tag === 'body' ? attribs['text'] : undefined;
  const value = style.get('color') ?? (attribute === undefined ? undefined : legacyColour(attribute));
  const inherited = tag === 'a' && attribs['href'] !== undefined ? CANVAS[scheme].link : parent.text;
  if (value === undefined) return inherited;
  if (/^(?:inherit|currentcolor|unset)\b/i.test(value)) return parent.text;
  return blend(value, parent.background);
}

const IMAGE = /\b(?:url|image|image-set|[\w-]*gradient|var)\(/i;

/** The colour behind the text; null where an image or something unknown may be. */
function backgroundOf(
  attribs: Attributes,
  style: ReadonlyMap<string, string>,
  behind: string | null,
): string | null {
  const { background: picture, bgcolor } = attribs;
  let colour = bgcolor === undefined ? behind : blend(legacyColour(bgcolor), behind);
  let hasImage = picture !== undefined && picture !== '';
  for (const [property, value] of style) {
    if (!/^background(?:-color|-image)?$/.test(property)) continue;
    if (property !== 'background-color') hasImage = IMAGE.test(value);
    if (property === 'background-image') continue;
    colour = /^(?:none|transparent|inherit|initial|unset)\b/i.test(value) ? behind : blend(value, behind);
  }
  return hasImage ? null : colour;
}

const legacyColour = (value: string): string =>
  /^(?:[\da-f]{3}|[\da-f]{6})$/i.test(value.trim()) ? `#${value.trim()}` : value;

/** The first colour of a value over what is behind it, as #rrggbb; null when there is none that can be known. */
function blend(value: string, behind: string | null): string | null {
  const found = parsed(value).flatMap((node) => color(node) || [])[0];
  if (found === undefined) return null;
  const [red = 0, green = 0, blue = 0, alpha = 1] =
    serializeRGB(found)
      .toString()
      .match(/[\d.]+/g)
      ?.map(Number) ?? [];
  if (alpha < 1 && behind === null) return null;
  const under = [1, 3, 5].map((at) => Number.parseInt((behind ?? '#ffffff').slice(at, at + 2), 16));
  return `#${[red, green, blue]
    .map((channel, at) => Math.round(channel * alpha + (under[at] ?? 0) * (1 - alpha)))
    .map((channel) => channel.toString(16).padStart(2, '0'))
    .join('')}`;
}
