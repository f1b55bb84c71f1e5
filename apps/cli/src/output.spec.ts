import { describe, expect, it } from '@jest/globals';
import { table } from './output.js';

describe('A table', () => {
  it('has columns as wide as they need', () => {
    expect(table(['KEY', 'N'], [['APIT-1000', '7']])).toBe('KEY        N\nAPIT-1000  7');
  });

  it('may have as many rows as were found', () => {
    const rows = Array.from({ length: 300_000 }, (_, index) => [String(index)]);
    expect(table(['COUNTER'], rows).split('\n')).toHaveLength(300_001);
  });
});
