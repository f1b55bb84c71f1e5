import { describe, expect, it } from '@jest/globals';
import { CircuitBreaker } from './smtp-transport.js';

describe('after a failure', () => {
  it('the pauses grow from 0.2 s to 30 s', () => {
    const backoff = new CircuitBreaker();
    let now = 1_000;
    const pauses = Array.from({ length: 10 }, () => {
      backoff.failed(now, now);
      const pause = backoff.remaining(now);
      now += pause;
      return pause;
    });
    expect(pauses).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  });

  it('one trial is allowed when the pause is over, and all when it succeeded', () => {
    const backoff = new CircuitBreaker();
    expect(backoff.mayTry(0)).toBe(true);
    backoff.failed(0, 10);
    expect([backoff.mayTry(10), backoff.mayTry(209), backoff.mayTry(210), backoff.mayTry(211)]).toEqual([
      false,
      false,
      true,
      false,
    ]);
    backoff.succeeded();
    expect([backoff.mayTry(212), backoff.mayTry(212)]).toEqual([true, true]);
    expect(backoff.remaining(212)).toBe(0);
  });

  it('attempts that were under way together count as one', () => {
    const backoff = new CircuitBreaker();
    backoff.failed(0, 10);
    backoff.failed(5, 12);
    expect(backoff.remaining(10)).toBe(200);
    backoff.failed(300, 310);
    expect(backoff.remaining(310)).toBe(400);
  });
});
