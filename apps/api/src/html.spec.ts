import { describe, expect, it } from '@jest/globals';
import { array, assert, codePoint, property, string } from '#testing/random/properties';
import { html } from './html.js';

describe('html', () => {
  it('escapes every value, in text and in quoted attributes', () => {
    expect(html`<p title="${'"><script>'}">${"<b> & 'c'"}</p>`.toString()).toBe(
      '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt; &amp; &#39;c&#39;</p>',
    );
  });

  it('takes nested templates and lists of them as they are, and null as nothing', () => {
    const items = ['a<', 'b'].map((item) => html`<li>${item}</li>`);
    expect(html`${items}${null}${3}`.toString()).toBe('<li>a&lt;</li><li>b</li>3');
  });

  it('lets no text become markup, and loses none of it', () => {
    assert(
      property(array(string({ unit: codePoint })), (texts) => {
        const inner = html`${texts}`.toString();
        expect(inner).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/);
        expect(unescaped(inner)).toBe(texts.join(''));
      }),
    );
  });

  it('does not escape twice', () => {
    expect(html`${html`${'&'}`}`.toString()).toBe('&amp;');
  });
});

function unescaped(markup: string): string {
  return markup
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
