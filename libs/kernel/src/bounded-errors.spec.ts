import { describe, expect, it } from '@jest/globals';
import { boundedErrors } from './bounded-errors.js';

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
