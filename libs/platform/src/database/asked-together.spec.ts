import { describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { AskedTogether } from './asked-together.js';

describe('questions that are asked together', () => {
  it('are one statement for each set of them, by a name that PostgreSQL keeps whole, and never more sets than planned', async () => {
    const statements: string[] = [];
    const asked = new AskedTogether((name) => {
      statements.push(name);
      return Promise.resolve([]);
    });
    const ask = (...names: readonly string[]) =>
      Promise.all(names.map((name) => asked.holds(name, sql`true`)));
    const long = (count: number) =>
      Array.from({ length: count }, (_, index) => `a.question.of.some.length.${index}`);
    await ask(...long(9));
    await ask(...long(9).toReversed());
    expect([statements.length, new Set(statements).size]).toEqual([2, 1]);
    for (let set = 0; set < 200; set += 1) await ask('first', `other${set}`);
    const names = [...new Set(statements)];
    expect(names.filter((name) => name.startsWith('asked.')).length).toBeLessThanOrEqual(50);
    expect(Math.max(...names.map((name) => Buffer.byteLength(name)))).toBeLessThanOrEqual(63);
  });
});
