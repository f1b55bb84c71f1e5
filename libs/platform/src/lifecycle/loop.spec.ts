import { expect, it } from '@jest/globals';
import { Loop } from './loop.js';

const DAY_MS = 86_400_000;

it('is woken from its start on by each who can, and by nobody after it has stopped', async () => {
  const wakes = new Set<() => void>();
  const listen = (wake: () => void) => {
    wakes.add(wake);
    return () => void wakes.delete(wake);
  };
  let passed = (): void => undefined;
  const fail = (error: unknown): void => {
    throw error;
  };
  const loop = new Loop(DAY_MS, () => Promise.resolve(passed()), fail, [listen, listen]);
  const nextPass = () => new Promise<void>((resolve) => (passed = resolve));
  expect(wakes.size).toBe(0);
  const first = nextPass();
  loop.start();
  await first;
  expect(wakes.size).toBe(2);
  for (const wake of wakes) {
    const next = nextPass();
    wake();
    await next;
  }
  await loop.stop();
  expect(wakes.size).toBe(0);
});
