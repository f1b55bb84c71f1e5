import { describe, expect, it } from '@jest/globals';
import { InUseError, type ResourceUser } from './in-use.error.js';

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
