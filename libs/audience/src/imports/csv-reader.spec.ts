import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'csv-stringify/sync';
import { parseEmailAddress } from '#kernel';
import * as fc from '#testing/random/properties';
import { CsvReader, type CsvRecord } from './csv-reader.js';

/** All records, the header first; `addressAt`: the column of the address, if there is one. */
function readAll(text: string, pieceLength = text.length, addressAt = -1): CsvRecord[] {
  const records: CsvRecord[] = [];
  const reader = new CsvReader((header) => {
    records.push(header);
    return addressAt;
  });
  for (let at = 0; at < text.length; at += Math.max(1, pieceLength)) {
    records.push(...reader.push(text.slice(at, at + Math.max(1, pieceLength))));
  }
  records.push(...reader.end());
  return records;
}

const read = (text: string, pieceLength?: number) =>
  readAll(text, pieceLength).map(({ cells, fault }) => ({ cells, fault }));
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

  describe('with stray quotes', () => {
    const header = 'email,name,note';
    const people = Array.from({ length: 30 }, (_, n) => [`p${n}@d.example`, `Name${n}`, `Note ${n}`]);
    const STRAY = 'has a stray quote: the lines after it were read as rows of their own';

    /** The records behind the header, of rows as they stand. */
    const rowsOf = (...lines: readonly string[]) =>
      readAll(`${[header, ...lines].join('\n')}\n`, 7, 0)
        .slice(1)
        .map(({ cells, fault, line }) => [line, fault ?? cells]);
    const plain = (n: number) => people[n]!.join(',');
    const whole = (n: number) => [n + 2, people[n]!];

    it('loses the row of a quote that nobody closes, and no other', () => {
      const lines = people.map((_, n) => (n === 10 ? 'p10@d.example,"Name10,Note 10' : plain(n)));
      expect(rowsOf(...lines)).toEqual(people.map((_, n) => (n === 10 ? [12, STRAY] : whole(n))));
    });

    it('loses no row behind it in a file of any size', () => {
      const many = Array.from({ length: 20_000 }, (_, n) => `q${n}@d.example,Name,Note`);
      const lines = ['p0@d.example,"Name0,Note 0', ...many];
      const records = rowsOf(...lines);
      expect(records).toHaveLength(20_001);
      expect(records.slice(0, 2)).toEqual([
        [2, STRAY],
        [3, ['q0@d.example', 'Name', 'Note']],
      ]);
      expect(records.at(-1)).toEqual([20_002, ['q19999@d.example', 'Name', 'Note']]);
    });

    it('puts nobody into the note of somebody else, where two of them make a quoted cell', () => {
      const lines = people.map((_, n) => {
        if (n === 2) return 'p2@d.example,Name2,"Note 2';
        return n === 9 ? 'p9@d.example,Name9,Note 9"' : plain(n);
      });
      expect(rowsOf(...lines)).toEqual(
        people.map((_, n) => {
          if (n === 2) return [4, STRAY];
          return n === 9 ? [11, ['p9@d.example', 'Name9', 'Note 9"']] : whole(n);
        }),
      );
    });

    it('leaves out what may be a note or rows, and says which lines', () => {
      const lines = [plain(0), 'p1@d.example,Name1,"Note 1', 'p2@d.example,Name2,Note 2"', plain(3)];
      expect(rowsOf(...lines)).toEqual([
        whole(0),
        [3, 'may be several rows and a stray quote: left out, in lines 3 to 4'],
        whole(3),
      ]);
    });

    it('counts the cells of a record that has too few', () => {
      expect(rowsOf('p1@d.example', plain(2))).toEqual([
        [2, 'has 1 cell instead of 3'],
        [3, people[2]],
      ]);
    });

    it('goes on behind a record of several lines that has too many cells', () => {
      expect(rowsOf('p1@d.example,"two\nlines",x,y', plain(3), 'p4@d.example')).toEqual([
        [2, 'has 4 cells instead of 3, in lines 2 to 3'],
        [4, people[3]],
        [5, 'has 1 cell instead of 3'],
      ]);
    });

    it('keeps long notes of many lines as they are, also with addresses and commas in them', () => {
      const notes = [
        `${'A line, and another.\r\n'.repeat(400)}The end "of it".`,
        'Write to ada@example.com,\nor to bob@example.com, after five',
        'Three of them:\nada@example.com\nbob@example.com\ncarol@example.com',
        'A list:\nada@example.com,Ada,1\n\nand more\nto say',
        'a\rb\n\n\nc',
      ];
      const file = stringify([header.split(','), ...notes.map((note, n) => [`p${n}@d.example`, 'N', note])]);
      for (const pieceLength of [1, 1_000]) {
        expect(
          readAll(file, pieceLength, 0)
            .slice(1)
            .map(({ cells }) => cells[2]),
        ).toEqual(notes);
      }
    });

    it('tells of one at the end of the file', () => {
      expect(rowsOf(plain(0), 'p1@d.example,Name1,"Note 1').at(-1)).toEqual([3, STRAY]);
      expect(read('a,b\n1,"2').at(-1)?.fault).toBe('has an unclosed quote');
      expect(readAll('a,b\n1,"2\n3,4').slice(1)).toEqual([
        { cells: [], fault: STRAY, line: 2 },
        { cells: ['3', '4'], fault: null, line: 3 },
      ]);
    });

    const texts = ['', 'Ann', 'Lee, Ann', 'a "b" c', 'say "hi"', 'x y z', 'Straße 5'];
    const words = fc.constantFrom<string[]>(...texts);
    const notes = fc.constantFrom<string[]>(...texts, 'one\ntwo', 'two lines\r\n\r\nand, more');
    const files = fc.record({
      people: fc.array(
        fc.record({
          before: fc.array(words, { minLength: 3, maxLength: 3 }),
          behind: fc.array(notes, { minLength: 3, maxLength: 3 }),
        }),
        { minLength: 2, maxLength: 40 },
      ),
      columns: fc.integer({ min: 1, max: 3 }),
      addressAt: fc.integer({ min: 0, max: 3 }),
      quoted: fc.boolean(),
      delimiter: fc.constantFrom(',', ';', '\t'),
      recordDelimiter: fc.constantFrom('\n', '\r\n'),
      strays: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 6 }),
      pieceLength: fc.integer({ min: 5, max: 200 }),
    });

    it('never lose a row without saying so, nor put it into the cell of another, wherever they are', () => {
      fc.assert(
        fc.property(files, (file) => {
          const addressAt = Math.min(file.addressAt, file.columns);
          const rows = file.people.map(({ before, behind }, n) => [
            ...before.slice(0, addressAt),
            `p${n}@d.example`,
            ...behind.slice(0, file.columns - addressAt),
          ]);
          const options = {
            delimiter: file.delimiter,
            record_delimiter: file.recordDelimiter,
            quoted: file.quoted,
            quoted_match: /[\r\n]/,
          };
          const names = rows[0]!.map((_, index) => `column${index}`);
          const written = rows.map((row) => stringify([row], options));
          const ends = written.map(
            (
              (end) => (text: string) =>
                (end += text.length)
            )(stringify([names], options).length),
          );
          const text = stringify([names], options) + written.join('');
          const first = text.length - written.join('').length;
          // Between the characters of a line break it would make two; beside another quote it is one in the text.
          const isBeside = (at: number) => /^\r\n|"/.test(text.slice(at - 1, at + 1));
          const places = file.strays
            .map((share) => first + Math.floor(share * (text.length - first)))
            .filter((at, index, all) => !isBeside(at) && all.indexOf(at) === index);
          const isDamaged = rows.map((_, n) =>
            places.some((at) => at >= ends[n]! - written[n]!.length && at <= ends[n]!),
          );
          let damaged = text;
          for (const at of places.toSorted((one, other) => other - one)) {
            damaged = `${damaged.slice(0, at)}"${damaged.slice(at)}`;
          }
          /** Refused by the reader, or for its address, which the row's own error tells. */
          const isRefused = ({ cells, fault }: CsvRecord) =>
            fault !== null || 'fault' in parseEmailAddress(cells[addressAt]!);
          const records = readAll(damaged, file.pieceLength, addressAt).slice(1);
          const good = records.filter((record) => !isRefused(record));
          const said = saidLines(records.filter(isRefused));
          let line = 2;
          rows.forEach((row, n) => {
            const lines = written[n]!.split(/\r\n|\n/).length - 1;
            const isThere = good.some(({ cells }) => isDeepStrictEqual(cells, row));
            if (!isDamaged[n] && !isThere) expect(said).toContain(line);
            line += lines;
          });
          for (const { cells } of good) {
            expect(new Set(cells.join(' ').match(/p\d+"*@/g)).size).toBeLessThanOrEqual(1);
          }
        }),
        { numRuns: fc.runs(1_000) },
      );
    });

    /** The lines that faults name. */
    function saidLines(records: readonly CsvRecord[]): number[] {
      return records.flatMap(({ fault, line }) => {
        const last = Number(/ to (\d+)$/.exec(fault ?? '')?.[1] ?? line);
        return Array.from({ length: last - line + 1 }, (_, index) => line + index);
      });
    }
  });

  it('goes on behind a line of any length, which is one fault', () => {
    const reader = new CsvReader(() => -1);
    reader.push('a,b\n"');
    const records = Array.from({ length: 50 }, () => reader.push('x'.repeat(50_000))).flat();
    records.push(...reader.push('",2\r'), ...reader.push('\n3,4'), ...reader.end());
    expect(records).toEqual([
      { cells: [], fault: 'has a cell that is too long', line: 2 },
      { cells: ['3', '4'], fault: null, line: 3 },
    ]);
  });

  it.each([
    ['sep=;\r\na,b;c\r\n1,2;3', ['1,2', '3'], 3],
    ['sep=|\na|b\n1,2|3', ['1,2', '3'], 3],
    ['SEP=,\na;b,c\n1;2,3', ['1;2', '3'], 3],
    ['sep=\na\n1', ['1'], 3],
  ])('goes by the first line of Excel, as in %j', (text, cells, line) => {
    for (const pieceLength of [1, 4, text.length]) {
      expect(readAll(text, pieceLength).at(-1)).toEqual({ cells, fault: null, line });
    }
  });

  // Without addresses: behind a line break, one in a row that has none in its own column is read as a row that a stray quote swallowed.
  const cell = fc
    .oneof(
      fc.string({ maxLength: 6 }),
      fc.stringMatching(/^[a,;"\r\n\t ]{0,6}$/),
      fc.string({ unit: 'grapheme', maxLength: 4 }),
    )
    .map((text) => text.replaceAll('@', 'a'));
  const tables = fc
    .integer({ min: 2, max: 5 })
    .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 8 }))
    .map((rows) => rows.filter((row) => row.some((text) => text !== '')));

  it('takes an address behind a line break for a row, where the row has none in its own column', () => {
    expect(read('a,b,c\r\n,"\r",#@0.a\r\n', 1)).toEqual([
      { cells: ['a', 'b', 'c'], fault: null },
      { cells: [], fault: expect.stringContaining('has a stray quote') },
      { cells: [], fault: expect.any(String) },
    ]);
  });

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
