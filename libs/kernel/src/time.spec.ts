import { describe, expect, it } from '@jest/globals';
import { doublingBackoff, nextTry, withTimeout } from './time.js';

const NOW = new Date('2026-11-22T12:00:00Z');

describe('the wait before something that failed is tried again', () => {
  it('doubles with each failure, up to the longest', () => {
    expect([1, 2, 3, 4, 5, 2_000].map((failures) => doublingBackoff(failures, 1_000, 10_000))).toEqual([
      1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
    ]);
  });

  it('is the one of its number, and none after the last', () => {
    const waits = [1, 2, 3].map((failures) => nextTry([5_000, 60_000], failures, NOW)?.getTime());
    expect(waits).toEqual([NOW.getTime() + 5_000, NOW.getTime() + 60_000, undefined]);
  });

  it('is spread by no more than its share', () => {
    const waits = Array.from({ length: 200 }, () => nextTry([1_000], 1, NOW, 0.1)!.getTime() - NOW.getTime());
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(900);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_100);
    expect(new Set(waits).size).toBeGreaterThan(1);
  });
});

describe('work with a time limit', () => {
  const never = new Promise<never>(() => undefined);

  it('gives its value or its error when it is in time', async () => {
    expect(await withTimeout(Promise.resolve('done'), 60_000, () => 'late')).toBe('done');
    const failing = withTimeout(Promise.reject(new Error('broken')), 60_000, () => 'late');
    await expect(failing).rejects.toThrow('broken');
  });

  it('gives what stands for it when it takes longer, an error included', async () => {
    expect(await withTimeout(never, 1, () => 'late')).toBe('late');
    const failing = withTimeout(never, 1, () => {
      throw new Error('late');
    });
    await expect(failing).rejects.toThrow('late');
  });
});
