/**
 * What inlining may cost: declarations that every element could get. MJML and juice take 25 to 60 µs for each, and a mail
 * of 150 products with 40 rules of three comes to 150 000.
 */
const MOST_WORK = 200_000;
/** A look at one element from another is so much cheaper than a declaration. */
const LOOKS_IN_DECLARATION = 500;

/** Selectors that look at all siblings or descendants of an element: `:nth-child(2n)`, `:has(a)`, `a ~ b`. */
const LOOKING_ROUND = /~|:[\w-]+\(/g;

/** True when the sheets of an MJML source that are to be inlined are too much for its number of elements. */
export function isTooMuchStyle(mjml: string): boolean {
  const elements = countOf(mjml, /<[a-z]/gi);
  let work = 0;
  for (const sheet of inlinedSheets(mjml)) work += styleWork(sheet, elements);
  return work > MOST_WORK;
}

/** Read without an expression that spans a sheet: what is not closed would be read from every beginning again. */
function inlinedSheets(mjml: string): string[] {
  return mjml
    .split(/<mj-style(?=[\s>])/i)
    .slice(1)
    .filter((part) => /\binline\s*=/.test(part.slice(0, part.indexOf('>'))))
    .map((part) => part.slice(part.indexOf('>') + 1).split(/<\/mj-style/i, 1)[0] ?? '');
}

/** What applying a style sheet to so many elements may cost, in declarations that every one of them gets. */
export function styleWork(css: string, elements: number): number {
  let work = 0;
  for (const { selectors, declarations } of rulesOf(css)) {
    const most = countOf(selectors, /,/g) + 1;
    work += most * (countOf(declarations, /;/g) + 1) * elements;
    for (const selector of selectors.split(','))
      work += elements ** (countOf(selector, LOOKING_ROUND) + 1) / LOOKS_IN_DECLARATION;
  }
  return work;
}

/**
 * Rules as they follow each other, those in `@media` too. Cut at the braces, since an expression that looks for one would read
 * what holds none from every character again.
 */
function rulesOf(css: string): { readonly selectors: string; readonly declarations: string }[] {
  const parts = css.split('{');
  return parts.slice(1).map((part, index) => {
    const before = parts[index] ?? '';
    return {
      selectors: before.slice(before.lastIndexOf('}') + 1),
      declarations: part.split('}', 1)[0] ?? '',
    };
  });
}

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
