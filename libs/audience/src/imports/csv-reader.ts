import { counted, parseEmailAddress } from '#kernel';

/** One record of a CSV file: its cells, or the reason why it cannot be read. */
export interface CsvRecord {
  readonly cells: readonly string[];
  readonly fault: string | null;
  /** Its first line in the file, counted from 1. */
  readonly line: number;
}

/** More than any field may have; longer cells are not kept. */
const MAX_CELL = 100_000;
const MAX_RECORD = 1_000_000;
/** The most characters of the first line. */
const MAX_HEAD = 1_000_000;
/** Separators that, with an address in its place, make a line of a note a row; fewer may be a coincidence. */
const TELLING_SEPARATORS = 2;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const QUOTE = 34;
const LINE_BREAK = /\r\n|\n|\r/;
const LINE_BREAKS = new RegExp(LINE_BREAK, 'g');

const TOO_LONG = 'has a cell that is too long';
const UNCLOSED = 'has an unclosed quote';
const AFTER_QUOTE = 'has text after a closing quote';

const DELIMITERS = [',', ';', '\t'] as const;
/** Excel's own first line, by which it separates cells itself: `sep=;`. */
const EXCEL_HINT = /^sep=([^"\r\n])(?:\r\n|\n|\r)/i;
const LONGEST_HINT = 'sep=;\r\n'.length;

/** A record as its quotes delimit it; `end`: the position behind it, or of its fault. */
interface QuotedRecord {
  readonly cells: readonly string[];
  readonly fault: string | null;
  readonly end: number;
  /** The position of the cell with the fault. */
  readonly cellStart: number;
  readonly isMultiline: boolean;
}

/** The number of cells of a row and the place of its address. */
interface RowShape {
  readonly cells: number;
  /** The column of the address; -1: none. */
  readonly addressAt: number;
}

/** `isOfFirstLine`: the lines behind the first are records of their own. */
interface RecordFault {
  readonly text: string;
  readonly isOfFirstLine: boolean;
}

const STRAY_QUOTE: RecordFault = {
  text: 'has a stray quote: the lines after it were read as rows of their own',
  isOfFirstLine: true,
};

/**
 * Reads CSV (RFC 4180) as it arrives, keeping no more than one record. Records end with CRLF, LF or CR; empty ones are left out.
 *
 * A stray quote opens a cell that swallows the rows behind it. Where the quotes of a record cannot be right, or a quoted cell
 * holds rows, only its first line is at fault and reading goes on with the second. csv-parse and papaparse stop or lose rows.
 */
export class CsvReader {
  #text = '';
  /** Length of text before the next read, so that reading again stays in proportion to the text. */
  #wanted = 0;
  #delimiter: string | null = null;
  #shape: RowShape | null = null;
  #line = 1;
  /** In a line that is too long to keep. */
  #isSkipping = false;
  #records: CsvRecord[] = [];

  /** `open` gets the first record and returns the column of the address; the other records need as many cells. */
  constructor(private readonly open: (header: CsvRecord) => number) {}

  /** The line that the next piece goes on with. */
  get line(): number {
    return this.#line + breaksIn(this.#text);
  }

  /** The records behind the header that end in the next piece of text. */
  push(text: string): CsvRecord[] {
    // Joined: `+` would make a rope, whose characters are slow to read.
    this.#text = this.#text === '' ? text : [this.#text, text].join('');
    return this.#text.length < this.#wanted ? [] : this.#read(false);
  }

  /** The remaining records. */
  end(): CsvRecord[] {
    return this.#read(true);
  }

  #read(isAll: boolean): CsvRecord[] {
    if (this.#delimiter === null) this.#readHead(isAll);
    let at = 0;
    while (this.#delimiter !== null && at < this.#text.length) {
      const end = this.#isSkipping ? this.#endLine(at, isAll) : this.#readRecord(at, this.#delimiter, isAll);
      if (end === null) break;
      at = end;
    }
    this.#text = this.#text.slice(at);
    this.#wanted = this.#text.length * 2;
    const records = this.#records;
    this.#records = [];
    return records;
  }

  #readHead(isAll: boolean): void {
    const dialect = dialectOf(this.#text, isAll || this.#text.length > MAX_HEAD);
    if (dialect === null) return;
    this.#delimiter = dialect.delimiter;
    this.#line += breaksIn(this.#text.slice(0, dialect.hintLength));
    this.#text = this.#text.slice(dialect.hintLength);
  }

  /** Returns the position behind the record, or behind its first line; null when more text must come. */
  #readRecord(from: number, delimiter: string, isAll: boolean): number | null {
    const read = quotedRecord(this.#text, from, delimiter, isAll);
    if (read === null) return null;
    const lines = read.isMultiline ? this.#text.slice(from, read.end).split(LINE_BREAK) : [];
    const fault = this.#faultOf(read, lines, delimiter);
    this.#add(fault === null ? read.cells : [], fault?.text ?? null);
    if (fault?.isOfFirstLine === true) return this.#endLine(from, isAll);
    this.#line += Math.max(1, lines.length - 1);
    return read.end;
  }

  /** Returns the position behind the line, or how far it is known; null when more text must come. */
  #endLine(from: number, isAll: boolean): number | null {
    const found = firstBreak(this.#text, from);
    this.#isSkipping = true;
    if (found === null) return this.#text.length;
    // May be half of a CRLF.
    if (!isAll && found.end === this.#text.length && this.#text.endsWith('\r')) {
      return found.start === from ? null : found.start;
    }
    this.#isSkipping = false;
    this.#line += 1;
    return found.end;
  }

  #add(cells: readonly string[], fault: string | null): void {
    if (fault === null && cells.every((cell) => cell === '')) return;
    const record = { cells, fault, line: this.#line };
    if (this.#shape !== null) this.#records.push(record);
    else this.#shape = { cells: cells.length, addressAt: this.open(record) };
  }

  #faultOf(read: QuotedRecord, lines: readonly string[], delimiter: string): RecordFault | null {
    if (read.fault !== null) {
      return read.isMultiline ? STRAY_QUOTE : { text: read.fault, isOfFirstLine: true };
    }
    if (this.#shape === null || read.cells.every((cell) => cell === '')) return null;
    const { cells, addressAt } = this.#shape;
    const count =
      read.cells.length === cells ? null : `has ${counted(read.cells.length, 'cell')} instead of ${cells}`;
    if (!read.isMultiline) return count === null ? null : { text: count, isOfFirstLine: false };
    const span = `lines ${this.#line} to ${this.#line + lines.length - (lines.at(-1) === '' ? 2 : 1)}`;
    const others = lines.slice(1).filter((line) => line !== '');
    if (count !== null || !isAddress(read.cells[addressAt] ?? '')) {
      if (others.some((line) => line.split(delimiter).some(isAddress))) return STRAY_QUOTE;
      return count === null ? null : { text: `${count}, in ${span}`, isOfFirstLine: false };
    }
    const rows = others.filter((line) => looksLikeRow(line, this.#shape!, delimiter));
    const isLastTelling = cells > TELLING_SEPARATORS && rows.at(-1) === others.at(-1);
    const hasRows = rows.length > 0 && (isLastTelling || rows.length * 2 > others.length);
    if (!hasRows || !looksLikeRow(lines[0]!, this.#shape, delimiter)) return null;
    // The last line has the closing quote, which may be as stray as the first.
    const whole = rows.filter((line) => line !== others.at(-1));
    if (whole.length * (cells - 1) >= TELLING_SEPARATORS) return STRAY_QUOTE;
    return { text: `may be several rows and a stray quote: left out, in ${span}`, isOfFirstLine: false };
  }
}

/** The record at `from`, by its quotes; null when it does not end in `text` and more may come. */
function quotedRecord(text: string, from: number, delimiter: string, isAll: boolean): QuotedRecord | null {
  const delimiterCode = delimiter.charCodeAt(0);
  const cells: string[] = [];
  let isMultiline = false;
  let at = from;
  for (;;) {
    let end = at;
    let fault: string | null = null;
    if (text.charCodeAt(at) === QUOTE) {
      const cell = quotedCell(text, at, isAll);
      if (cell === null) return null;
      ({ end, fault } = cell);
      isMultiline ||= hasBreak(fault === null ? cell.value : text.slice(at, end));
      if (fault === null && end < text.length && !isEnd(text.charCodeAt(end), delimiterCode))
        fault = AFTER_QUOTE;
      cells.push(cell.value);
    } else {
      while (end < text.length && !isEnd(text.charCodeAt(end), delimiterCode)) end += 1;
      if (end - at > MAX_CELL) fault = TOO_LONG;
      cells.push(text.slice(at, end));
    }
    if (end - from > MAX_RECORD) fault ??= TOO_LONG;
    if (fault !== null) return { cells: cells.slice(0, -1), fault, end, cellStart: at, isMultiline };
    const isAtEnd = end === text.length;
    if (isAtEnd && !isAll) return null;
    const code = text.charCodeAt(end);
    const cellStart = at;
    at = end + 1;
    if (!isAtEnd && code === delimiterCode) continue;
    if (code === CARRIAGE_RETURN && at === text.length && !isAll) return null;
    if (code === CARRIAGE_RETURN && text.charCodeAt(at) === LINE_FEED) at += 1;
    return { cells, fault: null, end: Math.min(at, text.length), cellStart, isMultiline };
  }
}

function isEnd(code: number, delimiterCode: number): boolean {
  return code === delimiterCode || code === LINE_FEED || code === CARRIAGE_RETURN;
}

interface QuotedCell {
  readonly value: string;
  readonly fault: string | null;
  /** The position behind it. */
  readonly end: number;
}

/** Null when the closing quote may still come. */
function quotedCell(text: string, from: number, isAll: boolean): QuotedCell | null {
  const most = from + MAX_CELL;
  let value = '';
  let part = from + 1;
  for (;;) {
    const quote = text.indexOf('"', part);
    const isUnclosed = quote === -1 && isAll && text.length <= most;
    if (isUnclosed) return { value, fault: UNCLOSED, end: text.length };
    if (quote > most || (quote === -1 && text.length > most)) {
      return { value, fault: TOO_LONG, end: most };
    }
    if (quote === -1 || (quote + 1 === text.length && !isAll)) return null;
    value += text.slice(part, quote);
    if (text.charCodeAt(quote + 1) !== QUOTE) return { value, fault: null, end: quote + 1 };
    value += '"';
    part = quote + 2;
  }
}

/** True for a line that is a row as it stands, or was one before a stray quote came into it. */
function looksLikeRow(line: string, { cells, addressAt }: RowShape, delimiter: string): boolean {
  if (!line.includes('@')) return false;
  const readings = [line.split(delimiter), cellsOfLine(line, delimiter)];
  return readings.some((row) => row.length === cells && isAddress(row[addressAt] ?? ''));
}

/** The cells of a line by its quotes, as far as these are closed. */
function cellsOfLine(line: string, delimiter: string): readonly string[] {
  const read = quotedRecord(line, 0, delimiter, true);
  if (read === null || read.fault === null) return read?.cells ?? [];
  return [...read.cells, ...line.slice(read.cellStart).split(delimiter)];
}

/** True for a cell that is an address, or was one before a stray quote came into it. */
function isAddress(cell: string): boolean {
  return cell.includes('@') && 'address' in parseEmailAddress(cell.replaceAll('"', ''));
}

function firstBreak(text: string, from: number): { readonly start: number; readonly end: number } | null {
  LINE_BREAKS.lastIndex = from;
  const found = LINE_BREAKS.exec(text);
  return found === null ? null : { start: found.index, end: found.index + found[0].length };
}

function hasBreak(text: string): boolean {
  return text.includes('\n') || text.includes('\r');
}

function breaksIn(text: string): number {
  return text.match(LINE_BREAKS)?.length ?? 0;
}

interface CsvDialect {
  readonly delimiter: string;
  /** Length of a first line that only names the delimiter. */
  readonly hintLength: number;
}

/**
 * The separator of cells: named by a first line `sep=;`, else the most frequent of `,`, `;` and tab outside quotes in the first
 * line with text, else a comma. Null while that line does not end in `text`; `isAll`: no more will come.
 */
function dialectOf(text: string, isAll: boolean): CsvDialect | null {
  if (text.length < LONGEST_HINT && !isAll) return null;
  const hint = EXCEL_HINT.exec(text);
  if (hint !== null) return { delimiter: hint[1]!, hintLength: hint[0].length };
  const delimiter = delimiterOf(text, isAll);
  return delimiter === null ? null : { delimiter, hintLength: 0 };
}

function delimiterOf(text: string, isAll: boolean): string | null {
  const counts = new Map<string, number>(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  let isBlank = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isQuoted = !isQuoted;
    else if (!isQuoted && (code === LINE_FEED || code === CARRIAGE_RETURN)) {
      if (!isBlank) return mostFrequent(counts);
      continue;
    } else if (!isQuoted) {
      const character = text.charAt(at);
      const count = counts.get(character);
      if (count !== undefined) counts.set(character, count + 1);
    }
    isBlank = false;
  }
  return isAll ? mostFrequent(counts) : null;
}

function mostFrequent(counts: ReadonlyMap<string, number>): string {
  const number = (delimiter: string) => counts.get(delimiter) ?? 0;
  return DELIMITERS.reduce<string>(
    (best, candidate) => (number(candidate) > number(best) ? candidate : best),
    ',',
  );
}
