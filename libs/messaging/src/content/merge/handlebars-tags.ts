/** A tag of Handlebars or Mustache that Liquid has not: `{{#if x}}`, `{{/each}}`, `{{^x}}`, `{{else}}`, `{{> part}}`, `{{! note}}`, `{{{x}}}`, `{{& x}}`. */
const TAG = /\{\{(?:[~-]?\s*(?:[#/^>!{]|&\s|else\b|@)[^{}]{0,100}|\s*this\b[^{}|]{0,100})\}\}/;
const BLOCK = /^([#/^])\s*(if|unless|each|with)?\b\s*(.*)$/;
const ENDS: Readonly<Record<string, string>> = { if: 'endif', unless: 'endunless', each: 'endfor' };

/** The fault of the first tag that is Handlebars' or Mustache's, with its spelling in Liquid; null where there is none. */
export function handlebarsFault(source: string): string | null {
  const [tag] = TAG.exec(source) ?? [];
  if (tag === undefined) return null;
  const inner = tag
    .slice(2, -2)
    .replaceAll(/^[~-]|[~-]$/g, '')
    .trim();
  return `has ${tag}, which is Handlebars: write ${inLiquid(inner)}`;
}

function inLiquid(inner: string): string {
  if (inner.startsWith('{') || inner.startsWith('&'))
    return `{{ ${inner.slice(1).trim()} }} in Liquid; values are always escaped`;
  if (inner.startsWith('!')) return '{% comment %} … {% endcomment %} in Liquid';
  if (inner.startsWith('>')) return 'the part itself: merge tags include no files';
  if (inner.startsWith('@')) return 'forloop.index0, forloop.first or forloop.last of Liquid in a {% for %}';
  if (/^this\b/.test(inner))
    return `{{ ${inner.replace('this', 'item')} }} in a {% for item in … %} of Liquid`;
  const [, elseIf] = /^else\s+if\s+(.*)$/.exec(inner) ?? [];
  if (elseIf !== undefined) return `{% elsif ${elseIf} %} in Liquid`;
  if (inner.startsWith('else')) return '{% else %} in Liquid';
  const [, sign, helper, rest = ''] = BLOCK.exec(inner) ?? [];
  if (sign === '/') return `{% ${ENDS[helper ?? ''] ?? 'endif or endfor'} %} in Liquid`;
  if (helper === 'each') return `{% for item in ${rest} %} in Liquid`;
  if (helper === 'with') return `{% assign item = ${rest} %} in Liquid`;
  if (sign === '^' || helper === 'unless') return `{% unless ${rest} %} in Liquid`;
  if (helper === 'if') return `{% if ${rest} %} in Liquid`;
  return `{% if ${rest} %} or {% for item in ${rest} %} in Liquid`;
}
