import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { MessageMemory } from './octets.js';

describe('the memory of messages', () => {
  it('joins texts and octets in their order', () => {
    expect(new MessageMemory().join(['a', Buffer.from('ü'), '', 'b']).toString()).toBe('aüb');
  });

  it('is used again when all that lay in it was given back', () => {
    const memory = new MessageMemory();
    const first = memory.join(['x'.repeat(1_000)]);
    memory.giveBack(first);
    expect(memory.join(['y'.repeat(1_000)]).buffer).toBe(first.buffer);
  });

  it('is not taken twice for what is given back twice', () => {
    const memory = new MessageMemory();
    const first = memory.join(['first']);
    memory.giveBack(first);
    const second = memory.join(['other']);
    memory.giveBack(first);
    memory.join(['third']);
    expect(second.toString()).toBe('other');
  });

  it('leaves alone what is not its own', () => {
    expect(() => new MessageMemory().giveBack(Buffer.from('x'))).not.toThrow();
  });

  it('never changes a message that was not given back', () => {
    const step = fc.record({
      octets: fc.integer({ min: 0, max: 40_000 }),
      backAfter: fc.integer({ min: 0, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const memory = new MessageMemory();
        const held: { message: Buffer; expected: string; until: number }[] = [];
        for (const [at, { octets, backAfter }] of steps.entries()) {
          const expected = String.fromCharCode(33 + (at % 90)).repeat(octets);
          held.push({ message: memory.join([expected]), expected, until: at + backAfter });
          for (const one of held.splice(0)) {
            expect(one.message.toString('latin1') === one.expected).toBe(true);
            if (one.until <= at) memory.giveBack(one.message);
            else held.push(one);
          }
        }
      }),
      { numRuns: fc.runs(30) },
    );
  });
});
