import { describe, expect, it } from '@jest/globals';
import { Outage } from './outage.js';

describe('an outage', () => {
  it('is told of once, and its end once, whoever notices it and how often', () => {
    const told: string[] = [];
    const outage = new Outage({
      begins: (error) => told.push(String(error)),
      ends: () => told.push('over'),
    });
    const [first, second] = [{}, {}];
    outage.isOver(first);
    for (const connection of [first, second, first]) outage.noticed(connection, new Error('refused'));
    outage.isOver(first);
    outage.isOver(first);
    expect(told).toEqual(['Error: refused']);
    outage.isOver(second);
    outage.noticed(second, new Error('reset'));
    outage.isOver(second);
    expect(told).toEqual(['Error: refused', 'over', 'Error: reset', 'over']);
  });
});
