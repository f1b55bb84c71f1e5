import { describe, expect, it } from '@jest/globals';
import { AnswerSeal } from './sealed-answer.js';

const answer = { status: 201, headers: { location: '/x' }, body: '{"a":1}' };
const FIRST = 'the first master key of this test, long';
const SECOND = 'the second master key of this test, long';

describe('A stored answer', () => {
  it('opens for the key that it was stored under, and for no other', () => {
    const sealed = new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-1').seal(answer);
    expect(new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-1').open(sealed)).toEqual(answer);
    expect(() => new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-2').open(sealed)).toThrow();
    expect(() => new AnswerSeal({ MASTER_KEY: FIRST }, 'other-key', 'order-1').open(sealed)).toThrow();
    expect(() => new AnswerSeal({ MASTER_KEY: SECOND }, 'api-key', 'order-1').open(sealed)).toThrow();
  });

  it('opens after a change of the master key while the previous one is configured', () => {
    const sealed = new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-1').seal(answer);
    const changed = { MASTER_KEY: SECOND, MASTER_KEY_PREVIOUS: FIRST };
    expect(new AnswerSeal(changed, 'api-key', 'order-1').open(sealed)).toEqual(answer);
    const anew = new AnswerSeal(changed, 'api-key', 'order-1').seal(answer);
    expect(new AnswerSeal({ MASTER_KEY: SECOND }, 'api-key', 'order-1').open(anew)).toEqual(answer);
  });
});
