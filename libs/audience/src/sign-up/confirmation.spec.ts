import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { secondsUntilRepeat } from './confirmation.js';

const now = new Date('2026-11-21T06:00:00.000Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);

describe('repeating a confirmation mail', () => {
  it('is free at first', () => {
    expect(secondsUntilRepeat([], now)).toBe(0);
  });

  it('waits for the rest of a minute', () => {
    expect(secondsUntilRepeat([ago(0)], now)).toBe(60);
    expect(secondsUntilRepeat([ago(59)], now)).toBe(1);
    expect(secondsUntilRepeat([ago(60)], now)).toBe(0);
  });

  it('waits until the fifth last is a day old', () => {
    const day = 86_400;
    expect(secondsUntilRepeat([ago(100), ago(200), ago(300), ago(400)], now)).toBe(0);
    expect(secondsUntilRepeat([ago(100), ago(200), ago(300), ago(400), ago(1_000)], now)).toBe(day - 1_000);
    expect(secondsUntilRepeat([ago(100), ago(200), ago(300), ago(400), ago(day)], now)).toBe(0);
  });

  it('never allows more than five a day or two a minute, however impatient the caller', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 7_200 }), { maxLength: 200 }), (waits) => {
        const sent: Date[] = [];
        let at = now.getTime();
        for (const wait of waits) {
          at += wait * 1_000;
          if (secondsUntilRepeat(sent, new Date(at)) === 0) sent.push(new Date(at));
        }
        for (const [index, time] of sent.entries()) {
          const within = (seconds: number) =>
            sent.slice(0, index + 1).filter((other) => other.getTime() > time.getTime() - seconds * 1_000)
              .length;
          expect(within(60)).toBe(1);
          expect(within(86_400)).toBeLessThanOrEqual(5);
        }
      }),
    );
  });
});
