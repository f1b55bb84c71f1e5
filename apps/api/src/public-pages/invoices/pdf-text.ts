import bidiFactory, { type EmbeddingLevels } from 'bidi-js';
import LineBreaker from 'linebreak';
import type { PdfFonts, Weight } from './pdf-fonts.js';

export interface TextStyle {
  readonly weight: Weight;
  readonly size: number;
  readonly colour: string;
}

/** `own`: by the first letter that has one. */
export type Direction = 'ltr' | 'rtl' | 'own';

/** Text in lines of a width, ready to be drawn. */
export interface TextLayout {
  readonly style: TextStyle;
  readonly lines: readonly Line[];
  readonly height: number;
}

interface Line {
  /** From left to right. */
  readonly runs: readonly Run[];
  readonly width: number;
  readonly height: number;
  /** Below the line's top. */
  readonly baseline: number;
}

/** Consecutive characters in one font and direction. */
interface Run {
  readonly face: string;
  readonly text: string;
  readonly width: number;
}

interface Paragraph {
  readonly text: string;
  /** The name of the font of each code unit. */
  readonly faces: readonly string[];
  readonly embedding: EmbeddingLevels;
  readonly style: TextStyle;
}

/** Between the top of a line and its baseline, as a share of the base font's height, so that columns stay aligned. */
const BASELINE = 0.8;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thaana}\p{Script=Syriac}\p{Script=Nko}]/u;

// Its types describe an ES module, which Node does not load.
const bidi = (bidiFactory as unknown as typeof bidiFactory.default)();
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/** PDFKit's own text knows one font at a time and no right-to-left order: this sets lines of both. */
export class PdfText {
  constructor(
    private readonly document: PDFKit.PDFDocument,
    private readonly fonts: PdfFonts,
  ) {}

  async layOut(text: string, style: TextStyle, width: number, direction: Direction): Promise<TextLayout> {
    const lines = [];
    for (const part of text.normalize('NFC').split(/\r\n|[\n\r\u2028\u2029]/)) {
      const paragraph = await this.#paragraphOf(part.replaceAll(/\p{Cc}/gu, ' '), style, direction);
      for (const [start, end] of this.#linesOf(paragraph, width))
        lines.push(await this.#lineOf(paragraph, start, end));
    }
    return { style, lines, height: lines.reduce((sum, line) => sum + line.height, 0) };
  }

  draw(
    { style, lines }: TextLayout,
    box: { x: number; y: number; width: number; align: 'left' | 'right' },
  ): void {
    const { document } = this;
    let { y } = box;
    for (const line of lines) {
      let x = box.align === 'left' ? box.x : box.x + box.width - line.width;
      for (const run of line.runs) {
        document.font(run.face).fontSize(style.size).fillColor(style.colour);
        document.text(run.text, x, y + line.baseline, {
          lineBreak: false,
          baseline: 'alphabetic',
          features: [],
        });
        x += run.width;
      }
      y += line.height;
    }
  }

  async #paragraphOf(text: string, style: TextStyle, direction: Direction): Promise<Paragraph> {
    const drawn = await this.fonts.facesOf(text, style.weight);
    const whole = drawn.map((grapheme) => grapheme.text).join('');
    const faces = drawn.flatMap((grapheme) =>
      Array.from({ length: grapheme.text.length }, () => grapheme.face.name),
    );
    const embedding = bidi.getEmbeddingLevels(whole, direction === 'own' ? 'auto' : direction);
    return { text: whole, faces, embedding, style };
  }

  /** The start and end of each line, without the space at its end. */
  #linesOf(paragraph: Paragraph, width: number): readonly (readonly [number, number])[] {
    const lines: [number, number][] = [];
    let line: [number, number] = [0, 0];
    let used = 0;
    for (const [start, end] of this.#unbreakable(paragraph, width)) {
      const visible = start + paragraph.text.slice(start, end).trimEnd().length;
      if (used > 0 && used + this.#widthOf(paragraph, start, visible) > width) {
        lines.push(line);
        [line, used] = [[start, start], 0];
      }
      line = [line[0], visible];
      used += this.#widthOf(paragraph, start, end);
    }
    return [...lines, line];
  }

  /** Parts that must stay in one line; what is wider than a line is broken between words, then between graphemes. */
  #unbreakable(paragraph: Paragraph, width: number): readonly (readonly [number, number])[] {
    const { text } = paragraph;
    const breaker = new LineBreaker(text);
    const parts: [number, number][] = [];
    let start = 0;
    for (let next = breaker.nextBreak(); next !== null; next = breaker.nextBreak()) {
      parts.push([start, next.position]);
      start = next.position;
    }
    const split = (by: Intl.Segmenter) => (part: readonly [number, number]) =>
      this.#widthOf(paragraph, ...part) <= width
        ? [part]
        : Array.from(
            by.segment(text.slice(...part)),
            ({ index, segment }) => [part[0] + index, part[0] + index + segment.length] as const,
          );
    return parts.flatMap(split(words)).flatMap(split(graphemes));
  }

  #widthOf(paragraph: Paragraph, start: number, end: number): number {
    return this.#runsOf(paragraph, start, end).reduce((sum, { run }) => sum + run.width, 0);
  }

  async #lineOf(paragraph: Paragraph, start: number, end: number): Promise<Line> {
    const { text, embedding, style } = paragraph;
    const runs = this.#runsOf(paragraph, start, end);
    const runAt = runs.flatMap(({ run, length }) => Array.from({ length }, () => run));
    const order =
      start === end ? [] : bidi.getReorderedIndices(text, embedding, start, end - 1).slice(start, end);
    const heightOf = (face: string) => this.document.font(face).fontSize(style.size).currentLineHeight(true);
    const baseHeight = heightOf((await this.fonts.base(style.weight)).name);
    return {
      runs: [...new Set(order.flatMap((index) => runAt[index - start] ?? []))],
      width: runs.reduce((sum, { run }) => sum + run.width, 0),
      height: Math.max(baseHeight, ...runs.map(({ run }) => heightOf(run.face))),
      baseline: baseHeight * BASELINE,
    };
  }

  /** In the order in which they are read. */
  #runsOf(
    { text, faces, embedding, style }: Paragraph,
    start: number,
    end: number,
  ): readonly { run: Run; length: number }[] {
    const runs = [];
    for (let from = start, to = start; from < end; from = to) {
      const face = faces[from] ?? '';
      const level = embedding.levels[from] ?? 0;
      while (to < end && faces[to] === face && embedding.levels[to] === level) to += 1;
      const logical = text.slice(from, to);
      const rightToLeft = level % 2 === 1;
      const whole = this.#runOf(logical, { face, rightToLeft, style });
      if (whole !== null) runs.push({ run: whole, length: to - from });
      else {
        for (const { segment } of graphemes.segment(logical)) {
          const run = this.#runOf(segment, { face, rightToLeft, style });
          if (run !== null) runs.push({ run, length: segment.length });
        }
      }
    }
    return runs;
  }

  /** Null where fontkit fails at a rare order of marks, which it then sets grapheme by grapheme. */
  #runOf(
    logical: string,
    { face, rightToLeft, style }: { face: string; rightToLeft: boolean; style: TextStyle },
  ): Run | null {
    const text = drawnText(logical, rightToLeft);
    try {
      const width = this.document.font(face).fontSize(style.size).widthOfString(text, { features: [] });
      return { face, text, width };
    } catch {
      return null;
    }
  }
}

/** The text of a run as fontkit must be given it, which goes from right to left by the run's first letter alone. */
function drawnText(text: string, rightToLeft: boolean): string {
  const drawn = Array.from(graphemes.segment(text.replaceAll(/\p{Bidi_Control}/gu, '')), ({ segment }) =>
    rightToLeft ? (bidi.getMirroredCharacter(segment) ?? segment) : segment,
  );
  const [letter] = /[^\p{Script=Common}\p{Script=Inherited}]/u.exec(text) ?? [];
  const reversed = (letter !== undefined && RIGHT_TO_LEFT.test(letter)) !== rightToLeft;
  return (reversed ? drawn.toReversed() : drawn).join('');
}
