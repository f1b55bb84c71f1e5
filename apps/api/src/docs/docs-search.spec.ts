import { describe, expect, it } from '@jest/globals';
import { DocsSearch, passagesOf } from './docs-search.js';

/** What is shown of a page with this text for `query`. */
const excerptOf = (text: string, query: string) =>
  new DocsSearch(passagesOf('Page', '/page', `# Page\n\n${text}`)).find(query)[0]?.excerpt.join('').trim();

describe('an excerpt', () => {
  it('goes to the end of a text that is short', () => {
    expect(excerptOf('A webhook is posted within five seconds.', 'webhook')).toBe(
      'A webhook is posted within five seconds.',
    );
    expect(excerptOf('Posted within five seconds.', 'page')).toBe('Posted within five seconds.');
  });

  it('cuts no word where the text goes on', () => {
    const text = `A webhook ${'is posted again '.repeat(20)}`;
    expect(excerptOf(text, 'webhook')).toMatch(/ (?:is|posted|again)$/);
    expect(excerptOf(text, 'page')).toMatch(/ (?:is|posted|again)$/);
  });
});
