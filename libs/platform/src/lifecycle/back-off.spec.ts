import { describe, expect, it } from '@jest/globals';
import { BackOff } from './back-off.js';

describe('back-off', () => {
  it('waits half a second after a crash, and twice as long after each next, up to 30 s', () => {
    const backOff = new BackOff();
    const delays = Array.from({ length: 9 }, () => backOff.delayAfter(1_000));
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('begins anew after a minute of health', () => {
    const backOff = new BackOff();
    for (let crash = 0; crash < 5; crash += 1) backOff.delayAfter(0);
    expect(backOff.delayAfter(59_999)).toBe(16_000);
    expect(backOff.delayAfter(60_000)).toBe(500);
    expect(backOff.delayAfter(0)).toBe(1_000);
  });
});
