import { describe, expect, it } from '@jest/globals';
import { boundedErrors, InUseError, type ResourceUser } from './domain-error.js';

const campaigns = (count: number): ResourceUser[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'campaign',
    key: `ACME-00${index}`,
    name: `No ${index}`,
  }));

describe('the refusal to take away what is in use', () => {
  it.each([
    [1, /^The topic is used by the campaign ACME-000 “No 0”\.$/],
    [2, /^The topic is used by the campaign ACME-000 “No 0” and the campaign ACME-001 “No 1”\.$/],
    [3, /“No 0”, the campaign ACME-001 “No 1” and the campaign ACME-002 “No 2”\.$/],
    [10, /“No 8” and the campaign ACME-009 “No 9”\.$/],
    [11, /“No 9” and 1 more\.$/],
    [250, /“No 9” and 240 more\.$/],
  ])('names its users in words and as members: %d', (count, words) => {
    const error = new InUseError('The topic', campaigns(count));
    expect(error.message).toMatch(words);
    expect(error.members).toEqual({ usedBy: campaigns(Math.min(count, 10)), usedByCount: count });
  });

  it('shows nothing but kind, key and name of each', () => {
    const user = { kind: 'segment', key: 'ACME-1', name: 'Pro', of: 'an id' } as const;
    expect(new InUseError('The topic', [user]).members).toEqual({
      usedBy: [{ kind: 'segment', key: 'ACME-1', name: 'Pro' }],
      usedByCount: 1,
    });
  });
});

const fields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, 'is not a known field']));

describe('what is wrong with a request', () => {
  it('names 100 fields and says how many more there are', () => {
    expect(boundedErrors(fields(100))).toEqual(fields(100));
    expect(boundedErrors(fields(1_000))).toEqual({ ...fields(100), '…': 'and 900 more' });
  });

  it('is never longer than anybody can take', () => {
    const [[name, message] = ['', '']] = Object.entries(
      boundedErrors({ ['x'.repeat(1e6)]: 'y'.repeat(1e6) }),
    );
    expect([name.length, message.length]).toEqual([201, 1_001]);
  });
});
