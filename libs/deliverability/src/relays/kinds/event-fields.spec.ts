import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  bounceOf,
  jsonOf,
  listField,
  listOf,
  readJson,
  shortField,
  shortText,
  textField,
  tokenField,
} from './event-fields.js';
import { UnreadableFeedbackError } from './kind.js';

describe('the fields of an event', () => {
  const shape = z.object({ id: shortField, text: textField, list: listField(shortText, 4) });
  const fields = (value: object) => jsonOf(JSON.stringify(value), shape);

  it('are left out when they are missing or of another type, and unknown ones are', () => {
    const empty = { id: null, text: '', list: [] };
    expect(fields({})).toEqual(empty);
    expect(fields({ id: 7, text: [], list: {}, other: 1 })).toEqual(empty);
    expect(fields({ id: null, text: null, list: null })).toEqual(empty);
  });

  it('are left out when no database keeps them: too long, with control characters, not well-formed', () => {
    expect(fields({ id: 'x'.repeat(255) })?.id).toHaveLength(255);
    for (const id of ['', 'x'.repeat(256), 'a\u0000b', 'a\r\nb', '\ud800'])
      expect(fields({ id, list: ['a', id, 7, 'b'] })).toEqual({ id: null, text: '', list: ['a', 'b'] });
  });

  it('hold our token only where it can be ours', () => {
    const tokens = ['b+abc.def-G_7', 'x'.repeat(64), 'x'.repeat(65), 'of somebody else', '', 7, undefined];
    const ours = tokens.map((token) => tokenField.parse(token)).filter((token) => token !== null);
    expect(ours).toEqual(['b+abc.def-G_7', 'x'.repeat(64)]);
  });

  it('are no list with more than its elements', () => {
    expect(fields({ list: ['a', 'b', 'c', 'd'] })?.list).toHaveLength(4);
    expect(fields({ list: ['a', 'b', 'c', 'd', 'e'] })?.list).toEqual([]);
    expect(listOf(shortText, 1).safeParse(['a', 'b']).success).toBe(false);
  });

  it('come of JSON alone', () => {
    expect(jsonOf('no JSON', shape)).toBeNull();
    expect(jsonOf('[]', shape)).toBeNull();
    expect(() => readJson(Buffer.from('{'), shape)).toThrow(UnreadableFeedbackError);
    expect(() => readJson(Buffer.from('null'), shape)).toThrow(UnreadableFeedbackError);
  });
});

describe('a bounce', () => {
  const asTold = (words: string, enhancedCode: string | null = null, code?: number) =>
    bounceOf({ words, enhancedCode, code }, (byWords) => byWords);

  it('has the codes of the words, else those beside them', () => {
    const fact = { kind: 'bounce', class: 'hard', basicCode: 550, enhancedCode: '5.1.1' };
    expect(asTold('smtp; 550 5.1.1 no such user', '5.0.0', 554)).toEqual({
      ...fact,
      excerpt: '550 5.1.1 no such user',
    });
    expect(asTold('no such user', '5.1.1', 550)).toEqual({ ...fact, excerpt: 'no such user' });
    expect(asTold('', '5.1.1', 550)).toEqual({ ...fact, excerpt: null });
  });

  it('has no codes that are none', () => {
    for (const [enhancedCode, code] of [
      ['5.1', 605],
      ['5.1.1; DROP', 0],
      ['', Number.NaN],
      ['9.1.1', -550],
    ] as const)
      expect(asTold('', enhancedCode, code)).toMatchObject({
        class: 'unknown',
        basicCode: null,
        enhancedCode: null,
      });
  });

  it('has an excerpt that can be kept: short, well-formed, without control characters', () => {
    expect(asTold(`a\u0000b\r\n${'😀'.repeat(400)}`)).toMatchObject({
      excerpt: `a b  ${'😀'.repeat(247)}\ufffd`,
    });
    expect(asTold(' \r\n ')).toMatchObject({ excerpt: null });
  });
});
