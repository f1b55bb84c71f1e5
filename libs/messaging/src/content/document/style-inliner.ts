import { type CheerioAPI, load } from 'cheerio/slim';
import juice from 'juice';
import type { AnyNode, Declaration } from 'postcss';
import parseSafely from 'postcss-safe-parser';
import { holdsPlaceholder } from '../merge/merge-tags.js';

/** States of an element, and parts of one, that no `style` attribute can say. */
const STATES =
  /::?(?:hover|active|focus(?:-within|-visible)?|visited|link|before|after|first-letter|first-line|marker|selection|placeholder|checked|target)(?![\w-])/gi;

type Element = ReturnType<CheerioAPI>[number];

/** A property that a rule sets under a condition, without `!important`. */
interface Conditional {
  readonly selector: string;
  readonly properties: readonly string[];
}

/**
 * HTML whose style sheets are in `style` attributes as well. What a rule under a condition (`@media`, `:hover`) sets of an element
 * stays in the sheets alone, unless it is `!important`: an attribute would outdo it, and the mail would look otherwise than written.
 */
export function inlineSheets(html: string): string {
  const $ = load(html, { xml: { xmlMode: false, decodeEntities: false } });
  const sheets: string[] = [];
  const conditionals: Conditional[] = [];
  $('style').each((_, style) => {
    const css = $(style).text();
    // A merge tag decides what is in it.
    if (holdsPlaceholder(css)) return;
    const root = parseSafely(css);
    if (($(style).attr('media') ?? 'all').trim() === 'all') {
      conditionalRules(root.nodes, false, conditionals);
      sheets.push(css);
    } else conditionalRules(root.nodes, true, conditionals);
  });
  if (sheets.length === 0) return html;
  const written = new Map<Element, string>();
  const contested = new Map<Element, Set<string>>();
  for (const { selector, properties } of conditionals)
    for (const element of found($, selector)) {
      written.set(element, $(element).attr('style') ?? '');
      const known = contested.get(element) ?? new Set();
      for (const property of properties) known.add(property);
      contested.set(element, known);
    }
  juice.inlineDocument($, sheets.join('\n'), {
    applyAttributesTableElements: false,
    applyHeightAttributes: false,
    applyWidthAttributes: false,
    decodeStyleAttributes: true,
    inlinePseudoElements: false,
    insertPreservedExtraCss: false,
  });
  for (const [element, properties] of contested) {
    const style = $(element).attr('style');
    if (style === undefined) continue;
    const left = withoutContested(style, written.get(element) ?? '', properties);
    if (left === '') $(element).removeAttr('style');
    else $(element).attr('style', left);
  }
  return $.html();
}

function conditionalRules(nodes: readonly AnyNode[], isConditional: boolean, into: Conditional[]): void {
  for (const node of nodes) {
    if (node.type === 'atrule') conditionalRules(node.nodes ?? [], true, into);
    if (node.type !== 'rule') continue;
    const { selectors, nodes: inside } = node;
    const properties = inside
      .filter((each): each is Declaration => each.type === 'decl' && !each.important)
      .map(({ prop }) => prop.toLowerCase());
    if (properties.length === 0) continue;
    for (const selector of selectors) {
      const bare = selector.replaceAll(STATES, '');
      if (isConditional || bare !== selector) into.push({ selector: bare, properties });
    }
  }
}

/** Elements of a selector; none where it is none that is known here. */
function found($: CheerioAPI, selector: string): Element[] {
  try {
    return $(selector.trim() === '' ? '*' : selector).toArray();
  } catch {
    return [];
  }
}

/** A `style` attribute without what the sheets added of contested properties, their shorthands and longhands. */
function withoutContested(style: string, written: string, contested: ReadonlySet<string>): string {
  const own = new Set(declarationsOf(written).map(({ prop }) => prop));
  return declarationsOf(style)
    .filter(({ prop }) => own.has(prop) || ![...contested].some((other) => isOfOne(prop, other)))
    .map(({ prop, value, important }) => `${prop}: ${value}${important ? ' !important' : ''};`)
    .join(' ');
}

const declarationsOf = (style: string): readonly Declaration[] =>
  parseSafely(style).nodes.filter((node): node is Declaration => node.type === 'decl');

/** `line-height` is a part of `font` whose name does not say so. */
const isOfOne = (one: string, other: string): boolean =>
  one === other ||
  one.startsWith(`${other}-`) ||
  other.startsWith(`${one}-`) ||
  [one, other].toSorted().join() === 'font,line-height';
