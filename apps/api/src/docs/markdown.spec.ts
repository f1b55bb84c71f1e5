import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { Html } from '../html.js';
import { renderMarkdown, sectionsOf } from './markdown.js';

const asIs = (href: string) => href;
const htmlOf = (source: string) =>
  renderMarkdown(source, asIs)
    .html.toString()
    .replaceAll(/(?<=>)\s+(?=<)|\s*\n\s*|\s+$/g, '');

describe('a page in Markdown', () => {
  it.each([
    [
      'a heading, with the anchor that GitHub gives',
      '## What `POST` does',
      '<h2 id="what-post-does">What <code>POST</code> does</h2>',
    ],
    ['a paragraph over lines', 'one\ntwo', '<p>onetwo</p>'],
    ['emphasis', '**b** and *i*', '<p><strong>b</strong> and <em>i</em></p>'],
    [
      'code, which is taken literally',
      '`a*b*<c>` and `` ` ``',
      '<p><code>a*b*&lt;c&gt;</code> and <code>`</code></p>',
    ],
    ['a link with code in it', '[see `x`](y.md#z)', '<p><a href="y.md#z">see <code>x</code></a></p>'],
    [
      'an address',
      '<https://example.com/a?b=1&c>',
      '<p><a href="https://example.com/a?b=1&amp;c">https://example.com/a?b=1&amp;c</a></p>',
    ],
    ['an escape', String.raw`2 \* 3 * 4 * 5`, '<p>2 * 3 * 4 * 5</p>'],
    ['a list whose items go on', '- a\n  b\n- c', '<ul><li>ab</li><li>c</li></ul>'],
    ['a list in a list', '1. a\n   - b\n2. c', '<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>'],
    ['a list after a paragraph', 'x:\n\n- a\n\ny', '<p>x:</p><ul><li>a</li></ul><p>y</p>'],
    ['a quotation', '> a\n> b', '<blockquote><p>ab</p></blockquote>'],
    [
      'code in a block',
      '```ts\nif (a < b) {}\n\n# no heading\n```\nafter',
      '<pre tabindex="0"><code>if (a &lt; b) {}# no heading</code></pre><p>after</p>',
    ],
    [
      'a picture of a size',
      '![A & b](c.svg "375 × 400")',
      '<p><img src="c.svg" alt="A &amp; b" width="375" height="400" loading="lazy" /></p>',
    ],
    ['a picture', '![a](c.png)', '<p><img src="c.png" alt="a" loading="lazy" /></p>'],
    ['HTML as text', '<script>alert(1)</script>', '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  ])('has %s', (_what, source, expected) => {
    expect(htmlOf(source)).toBe(expected);
  });

  it('has tables, with strokes in their cells where they are escaped', () => {
    expect(htmlOf('| a | b |\n| --- | --- |\n| `x \\| y` | |\n\nafter')).toBe(
      '<div class="wide" tabindex="0"><table role="table"><thead role="rowgroup"><tr role="row">' +
        '<th role="columnheader" scope="col">a</th><th role="columnheader" scope="col">b</th></tr></thead>' +
        '<tbody role="rowgroup"><tr role="row"><td role="cell" data-name="a"><code>x | y</code></td>' +
        '<td role="cell" data-name="b"></td></tr></tbody></table></div><p>after</p>',
    );
  });

  it('gives rows about a setting an anchor, once', () => {
    const rows = '| a | b |\n| --- | --- |\n| `SMTP_URL` | a |\n| `SMTP_URL` | b |\n| `smtp` | c |';
    expect([...htmlOf(rows).matchAll(/<tr[^>]*>(?=<td)/g)].map(([row]) => row)).toEqual([
      '<tr role="row" id="SMTP_URL">',
      '<tr role="row">',
      '<tr role="row">',
    ]);
    expect(sectionsOf(`# A\n\n${rows}`).map(({ anchor }) => anchor)).toEqual(['a', 'SMTP_URL', 'SMTP_URL']);
  });

  it('leaves blocks of code with nothing between them to one call', () => {
    const runs: string[][] = [];
    renderMarkdown('```sh\na\n```\n\n```ts no-run: b\nb\n```\n\nc\n\n```\nd\n```', asIs, {
      code: (blocks) => {
        runs.push(blocks.map(({ language, text }) => `${language}:${text}`));
        return new Html([''], []);
      },
    });
    expect(runs).toEqual([['sh:a', 'ts:b'], [':d']]);
  });

  it('numbers headings of the same name', () => {
    const { headings } = renderMarkdown('## A\n\n## B\n\n## A\n\n### A', asIs);
    expect(headings.map(({ anchor }) => anchor)).toEqual(['a', 'b', 'a-1', 'a-2']);
  });

  it('names what a link leads to without a link when it leads nowhere', () => {
    expect(renderMarkdown('the [Dockerfile](../Dockerfile)', () => null).html.toString()).toContain(
      '<p>the Dockerfile</p>',
    );
  });

  it('ends, and lets no markup through, whatever it is made of', () => {
    const piece = fc.constantFrom(
      '- ',
      '1. ',
      '|',
      '| --- |',
      '`',
      '```',
      '**',
      '*',
      '[',
      '](',
      ')',
      '<b>',
      '"',
      '#',
      ' ',
      '  ',
      '\n',
      '\n\n',
      '> ',
      'a',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const markup = renderMarkdown(pieces.join(''), asIs).html.toString();
        expect(markup).not.toContain('<b>');
        const opened = [...markup.matchAll(/<([a-z]\w*)/g)]
          .map(([, tag = '']) => tag)
          .filter((tag) => tag !== 'br')
          .sort();
        const closed = [...markup.matchAll(/<\/([a-z]\w*)/g)].map(([, tag = '']) => tag).sort();
        expect(closed).toEqual(opened);
      }),
    );
  });
});

it('the words of a page, by heading', () => {
  const page =
    '# Title\n\nOne `two`, [three](x.md).\n\n## Part\n\n- *four*\n- five\n\n| six |\n| --- |\n| `7` |\n\n## Part\n\n```sh\nnpm ci\n```';
  expect(sectionsOf(page).map(({ anchor, words }) => [anchor, words.trim().replaceAll(/\s+/g, ' ')])).toEqual(
    [
      ['title', 'One two, three.'],
      ['part', 'four five six 7'],
      ['part-1', 'npm ci'],
    ],
  );
});
