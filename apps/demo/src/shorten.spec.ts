import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { shortBody, shortJson } from './shorten.js';

const answer = (text: string, json?: unknown) => ({ status: 200, headers: new Headers(), text, json });

describe('a shortened body', () => {
  it('is the whole of a small one', () => {
    expect(shortJson({ id: 1, tags: ['a', 'b'] })).toEqual(['{ "id": 1, "tags": [ "a", "b" ] }']);
  });

  it('cuts long texts and lists', () => {
    const [line] = shortJson({ text: 'x'.repeat(100), list: [1, 2, 3, 4] });
    expect(line).toMatch(/^\{ "text": "x{59}…",/);
    expect(shortJson([1, 2, 3, 4])).toEqual(['[ 1, 2, "… 2 more" ]']);
  });

  it('shows only what is of interest where that is said', () => {
    const mail = { id: 1, headers: { Subject: 'News', To: 'ada@example.com' } };
    expect(shortBody(answer('', mail), ['headers.Subject', 'nothing'])).toEqual([
      '{ "headers.Subject": "News", "nothing": null }',
      '…',
    ]);
  });

  it('of a page is its title, and of a text its first lines', () => {
    expect(shortBody(answer('<!doctype html><title>Confirm\n</title>'))).toEqual(['a page: Confirm']);
    expect(shortBody(answer('a,b\r\n1,2\r\n'))).toEqual(['a,b', '1,2']);
    expect(shortBody(answer(''))).toEqual([]);
  });

  it('never floods the terminal nor gives it orders', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: fc.codePoint }), (json, text) => {
        for (const lines of [shortBody(answer('', json)), shortBody(answer(text))]) {
          expect(lines.length).toBeLessThanOrEqual(7);
          for (const line of lines) {
            expect(line.length).toBeLessThanOrEqual(110);
            expect(line).not.toMatch(/\p{Cc}/u);
          }
        }
      }),
    );
  });
});
