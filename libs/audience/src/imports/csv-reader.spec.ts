import { describe, expect, it } from '@jest/globals';
import { stringify } from 'csv-stringify/sync';
import * as fc from '#testing/properties';
import { CsvReader } from './csv-reader.js';

function read(text: string, pieceLength = text.length): { cells: readonly string[]; fault: string | null }[] {
  const reader = new CsvReader();
  const records = [];
  for (let at = 0; at < text.length; at += Math.max(1, pieceLength)) {
    records.push(...reader.push(text.slice(at, at + Math.max(1, pieceLength))));
  }
  return [...records, ...reader.end()];
}

const cellsOf = (text: string) => read(text).map(({ cells }) => cells);

describe('a CSV reader', () => {
  it.each([
    ['CRLF', 'a,b\r\n1,2\r\n'],
    ['LF', 'a,b\n1,2\n'],
    ['a lone CR', 'a,b\r1,2\r'],
    ['no end of the last line', 'a,b\n1,2'],
    ['empty lines', '\r\n\na,b\n\n\n1,2\n\r\n'],
    ['lines of nothing but separators', 'a,b\n,\n1,2\n,'],
  ])('reads lines that end in %s', (_what, text) => {
    expect(cellsOf(text)).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it.each([
    ['commas', 'a,b;c,d\n1,2;3,4', ['1', '2;3', '4']],
    ['semicolons', 'a;b;"c,c,c,c"\n1;2,5;3', ['1', '2,5', '3']],
    ['tabs', 'a\tb,b\tc\n1\t2\t3', ['1', '2', '3']],
    ['one column, which has none', 'a\n1 2', ['1 2']],
  ])('finds out that cells are separated by %s', (_what, text, expected) => {
    expect(cellsOf(text)[1]).toEqual(expected);
  });

  it('reads quoted cells with line breaks, separators and doubled quotes', () => {
    expect(cellsOf('a,b\n"x\r\ny, ""z""",""\n"""",b"c"')).toEqual([
      ['a', 'b'],
      ['x\r\ny, "z"', ''],
      ['"', 'b"c"'],
    ]);
  });

  it('keeps spaces and an empty last cell', () => {
    expect(cellsOf('a,b\n x , \n1,')).toEqual([
      ['a', 'b'],
      [' x ', ' '],
      ['1', ''],
    ]);
  });

  it.each([
    ['text behind a closing quote', '"x"y,2', 'has text after a closing quote'],
    ['a cell of 200 000 characters', `${'x'.repeat(200_000)},2`, 'has a cell that is too long'],
    ['a quoted cell of 200 000 characters', `"${'x'.repeat(200_000)}",2`, 'has a cell that is too long'],
    ['two million cells', ','.repeat(2_000_000), 'has a cell that is too long'],
  ])('goes on behind a record with %s', (_what, record, fault) => {
    expect(read(`a,b\n${record}\n3,4`, 1_000).slice(1)).toEqual([
      { cells: expect.anything(), fault },
      { cells: ['3', '4'], fault: null },
    ]);
  });

  it('tells of a quote that nobody closes', () => {
    expect(read('a,b\n1,"2\n3,4').at(-1)?.fault).toBe('has an unclosed quote');
  });

  it('keeps no more of a cell than the longest may have', () => {
    const reader = new CsvReader();
    reader.push('a,b\n"');
    for (let count = 0; count < 50; count += 1) expect(reader.push('x'.repeat(50_000))).toEqual([]);
    const [record] = reader.push('",2\n');
    expect(record?.fault).toBe('has a cell that is too long');
    expect(record?.cells.join('').length).toBeLessThanOrEqual(100_000);
  });

  const cell = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.stringMatching(/^[a,;"\r\n\t ]{0,6}$/),
    fc.string({ unit: 'grapheme', maxLength: 4 }),
  );
  const tables = fc
    .integer({ min: 2, max: 5 })
    .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 8 }))
    .map((rows) => rows.filter((row) => row.some((text) => text !== '')));

  it('reads back what a CSV writer writes, wherever the pieces are cut', () => {
    fc.assert(
      fc.property(
        tables,
        fc.constantFrom(',', ';', '\t'),
        fc.constantFrom('\r\n', '\n', '\r'),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        (rows, delimiter, record_delimiter, quoted, pieceLength) => {
          const header = rows[0]?.map((_cell, index) => `column${index}`) ?? ['a', 'b'];
          const text = stringify([header, ...rows], {
            delimiter,
            record_delimiter,
            quoted,
            quoted_match: /[\r\n]/,
          });
          expect(read(text, pieceLength)).toEqual([header, ...rows].map((cells) => ({ cells, fault: null })));
        },
      ),
      { numRuns: fc.runs(500) },
    );
  });

  it('reads anything, and the same however it is cut', () => {
    fc.assert(
      fc.property(
        fc.array(cell).map((parts) => parts.join('')),
        fc.integer({ min: 1, max: 5 }),
        (text, pieceLength) => {
          expect(read(text, pieceLength)).toEqual(read(text));
        },
      ),
    );
  });
});
