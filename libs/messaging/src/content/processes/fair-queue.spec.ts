import { describe, expect, it } from '@jest/globals';
import { UnavailableError } from '#kernel';
import { FairQueue, RenderBudget } from './fair-queue.js';

/** Work that ends when it is told to; `begun` names what was let through, in order. */
function scene() {
  const turns = new FairQueue();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (projectId: number, name: string, cpuMs: number) =>
    turns.run(projectId, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      return { cpuMs };
    });
  /** Ends the oldest work, after the one whose turn it is has begun in a microtask. */
  const endOne = async (): Promise<void> => {
    await new Promise(setImmediate);
    ends.shift()?.();
  };
  return { begun, ask, endOne };
}

describe('the turns of projects', () => {
  it('let a newcomer through before the next piece of who has much waiting', async () => {
    const { begun, ask, endOne } = scene();
    const all = ['one', 'two', 'three'].map((name) => ask(1, name, 100));
    all.push(ask(2, 'newcomer', 100));
    for (let ended = 0; ended < 4; ended += 1) await endOne();
    await Promise.all(all);
    expect(begun).toEqual(['one', 'newcomer', 'two', 'three']);
  });

  it('go by the time that each has taken, not by how often', async () => {
    const { begun, ask, endOne } = scene();
    const all = [ask(1, 'slow', 1_000), ask(1, 'slow again', 1_000)];
    for (const name of ['quick', 'quick 2', 'quick 3', 'quick 4']) all.push(ask(2, name, 300));
    for (let ended = 0; ended < 6; ended += 1) await endOne();
    await Promise.all(all);
    expect(begun).toEqual(['slow', 'quick', 'quick 2', 'quick 3', 'quick 4', 'slow again']);
  });

  it('cannot be saved up', async () => {
    const { begun, ask, endOne } = scene();
    const all = [ask(1, 'first', 1_000), ask(1, 'second', 1_000), ask(1, 'third', 1_000)];
    await endOne();
    all.push(ask(2, 'late', 10), ask(2, 'late 2', 10), ask(2, 'late 3', 2_000), ask(2, 'late 4', 10));
    for (let ended = 0; ended < 6; ended += 1) await endOne();
    await Promise.all(all);
    expect(begun.indexOf('third')).toBeLessThan(begun.indexOf('late 4'));
  });

  it('go on after work that fails', async () => {
    const turns = new FairQueue();
    await expect(turns.run(1, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(turns.run(1, () => Promise.resolve({ cpuMs: 1 }))).resolves.toEqual({ cpuMs: 1 });
  });

  it('refuse a project of which very much waits, and no other', async () => {
    const { ask, endOne } = scene();
    const all = Array.from({ length: 201 }, (_, index) => ask(1, String(index), 1));
    await expect(ask(1, 'too much', 1)).rejects.toThrow(UnavailableError);
    all.push(ask(2, 'other', 1));
    for (let ended = 0; ended < 202; ended += 1) await endOne();
    await Promise.all(all);
  });
});

it('A project that has had its time rendered waits until it is paid back, and no other does', () => {
  let now = 0;
  const budget = new RenderBudget(() => now);
  expect(budget.waitMs(1)).toBe(0);
  budget.spend(1, 900);
  expect(budget.waitMs(1)).toBe(0);
  budget.spend(1, 900);
  expect(budget.waitMs(1)).toBe(1_000);
  expect(budget.waitMs(2)).toBe(0);
  now += 400;
  expect(budget.waitMs(1)).toBe(600);
  now += 1_000_000;
  budget.spend(1, 1_000);
  expect(budget.waitMs(1)).toBe(0);
});
