import { describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { isOfOutage, Outage } from './outage.js';

describe('an outage', () => {
  it('is told of once, and its end once, whoever notices it and how often', async () => {
    const told: string[] = [];
    let isAway = true;
    let looks = 0;
    const outage = new Outage(async () => {
      looks += 1;
      if (isAway) throw new Error('away');
    }, 1);
    outage.noticed(new Error('too early: the program says itself why it does not start'));
    outage.tell({ begins: (error) => told.push(String(error)), ends: () => told.push('over') });
    const errors = [new Error('refused'), new Error('refused again')];
    for (const error of errors) outage.noticed(error);
    expect(outage.isOn).toBe(true);
    expect(errors.map(isOfOutage)).toEqual([true, true]);
    await eventually('it is looked for', () => looks > 2);
    expect(told).toEqual(['Error: refused']);
    isAway = false;
    await eventually('it is over', () => told.length === 2);
    expect(outage.isOn).toBe(false);
    outage.noticed(new Error('reset'));
    await eventually('it is over again', () => told.length === 4);
    expect(told).toEqual(['Error: refused', 'over', 'Error: reset', 'over']);
  });

  it('is told of no more once the process ends', async () => {
    const told: string[] = [];
    const outage = new Outage(() => Promise.reject(new Error('away')), 1);
    outage.tell({ begins: () => told.push('begins'), ends: () => told.push('ends') });
    outage.noticed(new Error('refused'));
    outage.close();
    outage.noticed(new Error('refused'));
    expect(told).toEqual(['begins']);
  });

  it('is what an error is of that was copied, as the ORM does, and no other', () => {
    const outage = new Outage(() => Promise.resolve());
    outage.tell({ begins: () => undefined, ends: () => undefined });
    const error = new Error('refused');
    outage.noticed(error);
    outage.close();
    const copy = new Error(error.message);
    for (const name of Object.getOwnPropertyNames(error))
      Object.assign(copy, { [name]: Reflect.get(error, name) });
    expect([isOfOutage(copy), isOfOutage(new Error('refused')), isOfOutage(null)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
