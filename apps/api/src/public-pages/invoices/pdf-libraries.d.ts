declare module 'linebreak' {
  /** Finds the places where a line may end (UAX #14). */
  export default class LineBreaker {
    constructor(text: string);
    nextBreak(): { readonly position: number; readonly required: boolean } | null;
  }
}

declare module 'subset-font' {
  /** Makes a TrueType font of a variable one in WOFF2; with `keepAllGlyphs` there must be no text. */
  export default function subsetFont(
    font: Buffer,
    text: undefined,
    options: {
      readonly targetFormat: 'truetype';
      readonly variationAxes: Readonly<Record<string, number>>;
      readonly keepAllGlyphs: true;
      readonly noHinting: true;
    },
  ): Promise<Buffer>;
}
