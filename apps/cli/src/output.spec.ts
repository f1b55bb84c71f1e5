import { describe, expect, it } from '@jest/globals';
import { table, wrapped } from './output.js';

describe('A table', () => {
  it('has columns as wide as they need', () => {
    expect(table(['KEY', 'N'], [['APIT-1000', '7']])).toBe('KEY        N\nAPIT-1000  7');
  });

  it('may have as many rows as were found', () => {
    const rows = Array.from({ length: 300_000 }, (_, index) => [String(index)]);
    expect(table(['COUNTER'], rows).split('\n')).toHaveLength(300_001);
  });

  it('shows each row as a block where the terminal is too narrow for its columns', () => {
    const rows = [
      ['APIT-1000', 'topics:read,topics:write'],
      ['APIT-1001', ''],
    ];
    expect(table(['KEY', 'SCOPES'], rows, undefined, 36)).toMatch(/^KEY +SCOPES\nAPIT-1000 +topics/);
    expect(table(['KEY', 'SCOPES'], rows, undefined, 24)).toBe(
      'KEY     APIT-1000\nSCOPES  topics:read,\n        topics:write\n\nKEY     APIT-1001\nSCOPES',
    );
  });

  it('is broken between words, which stay whole', () => {
    expect(wrapped('one two, three\nfour', 8)).toEqual(['one two,', 'three', 'four']);
    expect(wrapped('0123456789 a', 4)).toEqual(['0123456789', 'a']);
  });
});
