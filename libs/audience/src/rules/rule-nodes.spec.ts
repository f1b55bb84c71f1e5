import { describe, expect, it } from '@jest/globals';
import { parseRuleText, readRules, referencesIn } from './rule-reader.js';
import { CATALOGUE, EMAIL, errorsOf, faultsBelow, read } from '#testing/random/rules';

describe('rules as a whole', () => {
  it('are read as they are nested', () => {
    const email = read(EMAIL).where;
    expect(read({ and: [EMAIL, { or: [EMAIL, { not: EMAIL }] }] })).toEqual({
      where: {
        kind: 'and',
        nodes: [email, { kind: 'or', nodes: [email, { kind: 'not', node: email }] }],
      },
      conditionCount: 3,
      segmentIds: [],
    });
  });

  it.each<[string, unknown, Record<string, string>]>([
    ['no node', undefined, { '': 'is required' }],
    ['an empty node', {}, { '': 'must have one of and, or, not, field, consent, segment, event' }],
    [
      'two nodes in one',
      { and: [EMAIL], not: EMAIL },
      { '': 'must have one of and, or, not, field, consent, segment, event' },
    ],
    [
      'an inherited member',
      Object.create(EMAIL),
      { '': 'must have one of and, or, not, field, consent, segment, event' },
    ],
    ['a list of nothing', { or: [] }, { '.or': 'must not be empty' }],
    ['a member beside a list', { or: [EMAIL], op: 'x' }, { '.op': 'is not a known field' }],
    ['a list to negate', { not: [EMAIL] }, { '.not': 'must be an object' }],
    ['faults inside', { or: [{ not: 7 }] }, { '.or[0].not': 'must be an object' }],
  ])('with %s say what is wrong', (_, where, faults) => {
    expect(errorsOf(where)).toEqual(faultsBelow('rules.where', faults));
  });

  it('have a version and nothing beside it and the first node', () => {
    const errors = (json: unknown) => {
      const result = readRules(json, CATALOGUE, { root: 'goal' });
      return 'errors' in result ? result.errors : null;
    };
    expect(errors({ version: 1, where: EMAIL })).toBeNull();
    expect(errors({ where: EMAIL, other: 1 })).toEqual({
      'goal.other': 'is not a known field',
      'goal.version': 'is required',
    });
    expect(errors({ version: 2 })).toEqual({ 'goal.version': 'must be 1', 'goal.where': 'is required' });
    expect(errors(undefined)).toEqual({ goal: 'is required' });
    expect(errors('{}')).toEqual({ goal: 'must be an object' });
  });

  it('are JSON of at most 32 KB', () => {
    const text = (octets: number) => `"${'x'.repeat(octets - 2)}"`;
    expect(parseRuleText('{"a":[1]}')).toEqual({ json: { a: [1] } });
    expect(parseRuleText(text(32 * 1024))).toHaveProperty('json');
    expect(parseRuleText(text(32 * 1024 + 1))).toEqual({ errors: { rules: 'must be at most 32 KB' } });
    expect(parseRuleText('{', 'goal')).toEqual({ errors: { goal: 'is not JSON' } });
  });

  it('name what is looked up by texts alone', () => {
    const json = { field: 'note', topicKey: 7, deep: [null, 'topicKey', { field: 'custom.a', op: 'x' }] };
    expect(referencesIn(json)).toEqual({
      topicKeys: new Set(),
      segmentKeys: new Set(),
      campaignKeys: new Set(),
      customFields: new Set(['a']),
    });
    expect(referencesIn('custom.a')).toEqual(referencesIn(null));
  });
});
