import { expect, it } from '@jest/globals';
import { RenderBudget } from './render-budget.js';

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
