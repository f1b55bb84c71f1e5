import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { normalizedName } from './person-name.js';

describe('a name', () => {
  it.each([
    ['Ada', 'Ada'],
    [' Ada\t', 'Ada'],
    ['"Ada"', 'Ada'],
    [' "" Ada ""', 'Ada'],
    ['„Ada“', 'Ada'],
    ['« Ada »', 'Ada'],
    ['Jose\u0301', 'José'],
    ['Ada "the Countess"', 'Ada "the Countess"'],
    ["'t Hooft", "'t Hooft"],
    ["'Ala'", "'Ala'"],
    ['"', '"'],
    ['""', ''],
    ['"'.repeat(100_001), '"'],
  ])('%j is stored as %j', (text, name) => {
    expect(normalizedName(text)).toBe(name);
  });

  it('is the same when it is read again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(normalizedName(normalizedName(text))).toBe(normalizedName(text));
      }),
    );
  });
});
