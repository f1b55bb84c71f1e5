import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import * as fc from '#testing/random/properties';
import { folded } from './text-folding.js';

/** Assigned by Unicode 17, which PostgreSQL 18 does not know: a few Latin letters and the script Beria Erfe. */
const LATER = /[\ua7ce\ua7cf\ua7d2-\ua7d5\u{16ea0}-\u{16edf}]/gu;

describe('text folded for comparison', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test.drop());

  const inSql = async (texts: readonly string[]) =>
    (
      await test.query<{ folded: string }>(
        'select audience.folded(t) as folded from unnest($1::text[]) with ordinality as x(t, n) order by n',
        [texts],
      )
    ).map((row) => row.folded);

  it('is the same in SQL and in memory, for every character of Unicode', async () => {
    const characters: string[] = [];
    for (let code = 1; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      // Characters without case, such as most of the Han, fold to themselves in both.
      if (/\p{L}|\p{M}|\p{N}|\p{S}/u.test(character) && !/\p{Script=Han}|\p{Script=Hangul}/u.test(character))
        characters.push(character);
    }
    const sql = await inSql(characters);
    const different = characters.filter(
      (character, index) => sql[index] !== folded(character) && character.search(LATER) < 0,
    );
    expect(different).toEqual([]);
    expect(characters.length).toBeGreaterThan(20_000);
  });

  it('is the same for texts as for their characters', async () => {
    const texts = fc.sample(
      fc
        .string({ unit: fc.codePoint })
        .map((text) => text.replaceAll('\u0000', '').toWellFormed().replaceAll(LATER, '')),
      2_000,
    );
    expect(await inSql(texts)).toEqual(texts.map(folded));
  });

  it.each([
    ['STRAẞE', 'Straße'],
    ['ΟΔΟΣ', 'οδος'],
    ['ſ', 'S'],
    ['µ', 'μ'],
    ['ǅ', 'ǆ'],
    ['K', 'k'],
  ])('takes %s and %s as the same', (one, other) => {
    expect(folded(one)).toBe(folded(other));
  });

  it('takes no accent away, writes no letter out and knows no Turkish', () => {
    expect(folded('É')).not.toBe(folded('E'));
    expect(folded('ß')).not.toBe(folded('SS'));
    expect(folded('İ')).not.toBe(folded('i'));
    expect(folded('ı')).not.toBe(folded('I'));
  });

  it('is not changed by folding again', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => folded(folded(text)) === folded(text)));
  });
});
