import { describe, expect, test } from '@jest/globals';
import { missing, PARTS } from './parts.js';

describe('the parts of this run', () => {
  test('are listed, those that are missing with what they need', () => {
    const lines = PARTS.map((part) => {
      const absent = missing(part);
      return `${part.padEnd(14)}${absent.length === 0 ? 'installed' : `missing: ${absent.join(', ')}`}`;
    });
    process.stdout.write(`\n${lines.join('\n')}\n\n`);
    expect(lines).toHaveLength(PARTS.length);
  });
});
