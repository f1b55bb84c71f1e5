import { Parser, type ParserOptions } from 'htmlparser2';

// Noncharacters like those of merge tags; taken from the source first, so that nothing but a marker looks like one.
const MARKER = /\uFDD3(\d+)\uFDD4/g;
const MARKS = /[\uFDD3\uFDD4]/g;
const CONDITION = /^(?:\uFDD2\d+\uFDD1)+$/;

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Reader {
  readonly parser: ParserOptions;
  readonly deepest: number;
  tooDeep(): void;
  /** Clean text in place of a comment, as it stands between `<!` and `>`. */
  comment(text: string): string;
  /** A style sheet; its element is taken out. */
  sheet(css: string): void;
}

/**
 * Prepares masked markup for a sanitiser that knows neither comments nor style sheets: sets them aside by the parser that the
 * sanitiser uses itself, and joins merge tags among the attributes of an element to the attribute behind them, so that
 * `{% if … %} href="…" {% else %} href="…"` are two different attributes.
 */
export function readMarkup(
  source: string,
  reader: Reader,
): { markup: string; restore(clean: string): string } {
  const masked = unwrapped(source.replaceAll(MARKS, ''));
  const edits: Edit[] = [];
  const aside: string[] = [];
  let depth = 0;
  let sheet: { readonly from: number; readonly body: number } | null = null;
  let conditionEnd: number | null = null;
  const parser = new Parser(
    {
      onopentagname: () => (conditionEnd = null),
      onattribute: (name, _, quote) => {
        if (conditionEnd !== null) edits.push({ from: conditionEnd, to: parser.startIndex, text: '' });
        const isCondition = quote === undefined && CONDITION.test(name);
        conditionEnd = isCondition ? parser.startIndex + name.length : null;
      },
      onopentag: (name) => {
        depth += 1;
        if (depth > reader.deepest) reader.tooDeep();
        if (name === 'style') sheet = { from: parser.startIndex, body: parser.endIndex + 1 };
      },
      onclosetag: (name) => {
        depth -= 1;
        if (name !== 'style' || sheet === null) return;
        const end = masked.indexOf('>', parser.endIndex);
        const to = end < 0 ? masked.length : end + 1;
        const bodyEnd = end < 0 ? to : Math.max(sheet.body, masked.lastIndexOf('</', end));
        reader.sheet(masked.slice(sheet.body, bodyEnd));
        edits.push({ from: sheet.from, to, text: '' });
        sheet = null;
      },
      oncomment: () => {
        const text = masked.slice(parser.startIndex, parser.endIndex + 1);
        const at = aside.push(reader.comment(text)) - 1;
        edits.push({ from: parser.startIndex, to: parser.endIndex + 1, text: `\uFDD3${at}\uFDD4` });
      },
    },
    reader.parser,
  );
  parser.write(masked);
  parser.end();
  return {
    markup: edited(masked, edits),
    restore: (clean) => clean.replaceAll(MARKER, (_, at: string) => aside[Number(at)] ?? ''),
  };
}

function edited(source: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const { from, to, text } of [...edits].sort((a, b) => a.from - b.from)) {
    if (from < at) continue;
    result += source.slice(at, from) + text;
    at = to;
  }
  return result + source.slice(at);
}

const CDATA = '<![CDATA[';

/** Without the marks of CDATA, which HTML takes for the beginning of a comment. */
function unwrapped(source: string): string {
  let result = '';
  let at = 0;
  for (;;) {
    const from = source.indexOf(CDATA, at);
    const to = from < 0 ? -1 : source.indexOf(']]>', from);
    if (to < 0) return result + source.slice(at);
    result += source.slice(at, from) + source.slice(from + CDATA.length, to);
    at = to + 3;
  }
}
