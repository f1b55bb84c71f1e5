import { describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { AskedTogether } from './asked-together.js';

describe('questions that are asked together', () => {
  it('are one statement for each set of them, and never more sets than are prepared', async () => {
    const statements: string[] = [];
    const asked = new AskedTogether((statement) => {
      statements.push(JSON.stringify(statement.toOperationNode()));
      return Promise.resolve([]);
    });
    const ask = (...texts: readonly string[]) =>
      Promise.all(texts.map((text) => asked.holds({ text, condition: sql.raw(text) })));
    const nine = Array.from({ length: 9 }, (_, index) => `${index} = 1`);
    await ask(...nine);
    await ask(...nine.toReversed());
    expect([statements.length, new Set(statements).size]).toEqual([2, 1]);
    for (let set = 0; set < 200; set += 1) await ask('true', `${set} < 1`);
    const sets = statements.filter((statement) => statement.includes('"q1"'));
    expect([sets.length, new Set(sets).size]).toEqual([51, 50]);
  });
});
