import { describe, expect, it } from '@jest/globals';
import { parseContentDocument } from './content-document.js';
import { isTooMuchStyle } from './style-work.js';

const source = (css: string, elements = 1) =>
  `<mjml><mj-head><mj-style inline="inline">${css}</mj-style></mj-head><mj-body>${'<mj-text>x</mj-text>'.repeat(elements)}</mj-body></mjml>`;
const many = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join('');

describe('The style sheets of a mail', () => {
  it('are read once, whatever they hold and lack: a request to save them holds up no other', () => {
    // Read again from every character they would take hours.
    for (const css of [
      'a'.repeat(3_000_000),
      '@media '.repeat(400_000),
      '}'.repeat(3_000_000),
      'a '.repeat(1_500_000),
    ])
      expect(isTooMuchStyle(source(css))).toBe(false);
    const oversized = JSON.stringify({ blocks: [{ type: 'mjml', mjml: source('a'.repeat(900_000)) }] });
    expect(parseContentDocument(oversized).errors).toEqual({
      'contentJson.blocks[0].mjml': 'must be at most 100000 characters',
    });
  });

  it('may hold 1 500 rules for screens', () => {
    const css = many(1_500, (index) => `@media (max-width:${index}px){.a${index}{color:red}}`);
    expect(isTooMuchStyle(source(css, 10))).toBe(false);
  });

  it('are too much when they hold too many rules for so many elements', () => {
    const css = many(1_000, (index) => `.a${index}{color:red;padding:1px}`);
    expect([isTooMuchStyle(source(css, 10)), isTooMuchStyle(source(css, 400))]).toEqual([false, true]);
    expect(isTooMuchStyle(source('a ~ b ~ c ~ d{color:red}', 1_000))).toBe(true);
  });
});
