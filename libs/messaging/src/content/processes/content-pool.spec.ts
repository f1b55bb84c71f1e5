import { describe, expect, it } from '@jest/globals';
import { TaskWatch } from './content-pool.service.js';

const MINUTE = 60_000;

describe('the watch over a task', () => {
  it('ends one that takes more CPU time than it may', () => {
    const watch = new TaskWatch(5_000);
    expect(watch.hasExceeded(1_000, 0)).toBe(false);
    expect(watch.hasExceeded(6_000, 200)).toBe(false);
    expect(watch.hasExceeded(6_010, 400)).toBe(true);
  });

  it('leaves one alone that a busy machine gives little, for as long as it takes', () => {
    const watch = new TaskWatch(5_000);
    for (let minute = 0; minute < 60; minute += 1)
      expect(watch.hasExceeded(minute * 10, minute * MINUTE)).toBe(false);
  });

  it('ends one that has taken none for two minutes', () => {
    const watch = new TaskWatch(5_000);
    expect(watch.hasExceeded(10, 0)).toBe(false);
    expect(watch.hasExceeded(10, 2 * MINUTE)).toBe(false);
    expect(watch.hasExceeded(10, 2 * MINUTE + 200)).toBe(true);
  });
});
