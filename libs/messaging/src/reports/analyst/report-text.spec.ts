import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { codeSpan, harmlessMarkdown, plainText } from './report-text.js';

describe('Markdown that a model wrote', () => {
  it('keeps headings, lists and emphasis', () => {
    const text = '## Summary\n\n- **Open rate**: 24.3%\n- `one`\n\n1. First\n';
    expect(harmlessMarkdown(text, 1_000)).toBe(text.trim());
  });

  it.each([
    ['a script', 'Hi <script>alert(1)</script>there', 'Hi there'],
    ['an element', 'Hi <b onclick="x()">there</b>', 'Hi there'],
    ['an image that would tell of its reader', 'A ![pixel](https://evil.example/p.gif) b', 'A pixel b'],
    ['a link', 'See [this](javascript:alert(1)) now', 'See this) now'],
    ['a link by reference', 'See [this][1] now\n\n[1]: https://evil.example', 'See this now'],
    ['an address', 'See https://evil.example/x now', 'See  now'],
    ['control characters', 'a\u0000b\u001B[31mc\r\nd', 'ab[31mc\nd'],
  ])('loses %s', (_, text, rest) => {
    expect(harmlessMarkdown(text, 1_000)).toBe(rest);
  });

  it('is cut at the end of a line when it is too long', () => {
    expect(harmlessMarkdown('one\ntwo\nthree', 9)).toBe('one\ntwo');
    expect(harmlessMarkdown('x'.repeat(50), 10).length).toBeLessThanOrEqual(10);
  });

  it('never has a tag, a link or an image left, whatever the pieces are put together from', () => {
    const piece = fc.constantFrom(
      '[',
      ']',
      '(',
      ')',
      '!',
      '<',
      '>',
      ':',
      '\n',
      'a',
      'https://x.example',
      '<img src=x>',
      '`',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = harmlessMarkdown(pieces.join(''), 500);
        expect(text).not.toMatch(/<[a-z!/]|\]\(|\]\[|\]:|https?:\/\//i);
      }),
      { numRuns: fc.runs(2_000) },
    );
  });
});

describe('Somebody’s words', () => {
  it('stay words in a sentence', () => {
    expect(plainText('# [Sale](http://x) <b>50% *off*</b>\nnow', 100)).toBe(
      String.raw`\# \[Sale\](http://x) \<b\>50% \*off\*\</b\> now`,
    );
    expect(plainText('a'.repeat(20), 10)).toBe(`${'a'.repeat(9)}…`);
  });

  it('cannot leave their code', () => {
    expect(codeSpan('https://x.example/`<b>`', 100)).toBe('`https://x.example/%60<b>%60`');
  });
});
