import { describe, expect, it } from '@jest/globals';
import { folded } from './text-folding.js';

/** CaseFolding.txt, status C and S; text-folding.spec.ts holds all of Unicode against PostgreSQL. */
describe('a letter folded for comparison', () => {
  it.each([
    ['A', 'a'],
    ['É', 'é'],
    ['ς', 'σ'],
    ['Σ', 'σ'],
    ['ẞ', 'ß'],
    ['ſ', 's'],
    ['µ', 'μ'],
    ['ǅ', 'ǆ'],
    ['\u1fd3', '\u0390'],
    ['\u1fe3', '\u03b0'],
    ['ﬅ', 'ﬆ'],
    ['\u{10400}', '\u{10428}'],
    ['Ꭰ', 'Ꭰ'],
    ['ꭰ', 'Ꭰ'],
    ['ᏸ', 'Ᏸ'],
  ])('takes %s for %s', (letter, fold) => {
    expect(folded(letter)).toBe(fold);
  });

  it.each(['a', 'ß', 'ﬃ', 'ŉ', 'İ', 'ı', '\u0390', '\u{10428}', '😀', '1', ' '])(
    'leaves %s as it is',
    (letter) => {
      expect(folded(letter)).toBe(letter);
    },
  );

  it('is folded wherever it stands', () => {
    expect(folded('STRAẞE ΟΔΟΣ')).toBe('straße οδοσ');
    expect(folded('')).toBe('');
  });
});
