/** Content below all limits of length that takes as long as its author can make it. */
export interface WorstContent {
  readonly name: string;
  readonly contentJson: string;
}

const times = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join('');
const filling = (length: number, text: string): string => text.repeat(Math.floor(length / text.length));

const text = (html: string): string =>
  `<mj-section><mj-column><mj-text>${html}</mj-text></mj-column></mj-section>`;
const mjml = (body: string, css = '', classes = ''): object[] => [
  {
    type: 'mjml',
    mjml: `<mjml><mj-head><mj-attributes>${classes}</mj-attributes><mj-style inline="inline">${css}</mj-style></mj-head><mj-body>${body}</mj-body></mjml>`,
  },
];
const blocks = (type: 'text' | 'html', html: string): object[] =>
  Array.from({ length: 4 }, () => ({ type, html }));

/** CSS that is refused when it is written: `rules` × `elements` is too much. */
export const TOO_MUCH_STYLE: readonly WorstContent[] = Object.entries({
  'rules for many elements': mjml(
    text(times(400, () => '<p>x</p>')),
    times(900, (index) => `p{p${index}:1px}`),
  ),
  'one rule of many declarations': mjml(
    text(times(1_000, () => '<p>x</p>')),
    `p{${times(2_000, (index) => `p${index}:1px;`)}}`,
  ),
  'rules that count siblings': mjml(
    text(times(2_000, () => '<p>x</p>')),
    times(300, (index) => `p:nth-child(${index}n+9999){color:red}`),
  ),
  'rules that look at what is inside': mjml(
    text(times(1_500, () => '<p>x</p>')),
    times(300, (index) => `p:has(~ b${index}):nth-child(2n+${index}){color:red}`),
  ),
  'rules that look inside of what they look at': mjml(
    text(times(1_500, () => '<p>x</p>')),
    'p:has(~ p:has(~ p:has(~ b))){color:red}',
  ),
}).map(([name, made]) => ({ name, contentJson: JSON.stringify({ blocks: made }) }));

/** Content that passes the bounds of an author: a thread compiles it, or gives it up. */
export const WORST_CONTENT: readonly WorstContent[] = Object.entries({
  'as much style as is allowed': mjml(
    text(times(400, () => '<p>x</p>')),
    times(470, (index) => `p{p${index}:1px}`),
  ),
  'nested style': mjml(text('<p>x</p>'), `${'p,b{&,i{'.repeat(9)}color:red${'}'.repeat(18)}`),
  'selectors of many steps': mjml(
    text(times(50, () => '<b>')),
    times(300, (index) => `i * * * * * * * * * *{color:r${index}}`),
  ),
  'images that each have a page': mjml(
    `<mj-section><mj-column><mj-carousel>${times(2_000, (index) => `<mj-carousel-image src="https://a.example/${index}"/>`)}</mj-carousel></mj-column></mj-section>`,
  ),
  'many sections': mjml(times(2_400, () => '<mj-section><mj-column/></mj-section>')),
  'deep wrappers': mjml(filling(80_000, '<mj-wrapper>')),
  'many paragraphs': blocks('text', filling(99_000, '<p>x')),
  'tables in tables': blocks('html', filling(49_000, '<table><tr><td>')),
  'many links': blocks('html', filling(99_000, '<a href="https://a.b/">x</a>')),
  'many entities': blocks('html', filling(99_000, '&')),
  'many open brackets': blocks('html', filling(99_000, '<')),
  'many single braces': blocks('text', filling(99_000, '{ ')),
  'blanks before a merge tag': blocks(
    'html',
    `<p title=" href=${' '.repeat(90_000)}x{{ subscriber.email }}">x</p>`,
  ),
  'one long condition': blocks('text', `{% if a${' or a'.repeat(19_000)} %}{% endif %}x`),
  'loops in loops': blocks(
    'text',
    '{% for a in (1..99) %}{% for b in (1..99) %}{{ subscriber.email }}{% endfor %}{% endfor %}x',
  ),
  'texts that double': blocks(
    'text',
    `{% assign s = "x" %}${'{% assign s = s | append: s %}'.repeat(17)}${'{% if s contains "xxxxxxxxxxxxxxxxxxxy" %}{% endif %}'.repeat(1_500)}x`,
  ),
  'long dates': blocks('text', `{{ "now" | date: "${'%A %B %c '.repeat(9_000)}" }}x`),
}).map(([name, made]) => ({ name, contentJson: JSON.stringify({ blocks: made }) }));

/** Content that each time it is asked for is new, and takes a thread some seconds. */
export function slowContent(nonce: number): string {
  const css = times(470, (index) => `p{p${index}:${nonce}px}`);
  return JSON.stringify({ blocks: mjml(text(times(400, () => '<p>x</p>')), css) });
}

/** A mail that takes a thread some 100 ms for each recipient. */
export const SLOW_LOGIC = JSON.stringify({
  blocks: [
    {
      type: 'text',
      html: `<p>{% for a in (1..99) %}{% for b in (1..99) %}{{ subscriber.email }}{% endfor %}{% endfor %}{{ "now" | date: "${'%A %B %c '.repeat(300)}" }}</p>`,
    },
  ],
});
