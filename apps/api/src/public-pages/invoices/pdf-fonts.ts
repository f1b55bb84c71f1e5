import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { create, type Font } from 'fontkit';
import subsetFont from 'subset-font';
import { projectRoot } from '#platform';

export type Weight = 'regular' | 'bold';

/** A font that a document has registered under its name. */
interface Face {
  readonly name: string;
  has(codePoint: number): boolean;
  /** True where fontkit can set a grapheme: it fails at some rare orders of marks. */
  sets(grapheme: string): boolean;
}

interface DrawnGrapheme {
  readonly text: string;
  readonly face: Face;
}

/** Packages of `@fontsource-variable` by script: UAX #31's recommended scripts that the base font lacks or sets badly. */
const BY_SCRIPT: readonly (readonly [RegExp, string])[] = [
  [/\p{scx=Bengali}/u, 'noto-sans-bengali'],
  [/\p{scx=Devanagari}/u, 'noto-sans-devanagari'],
  [/\p{scx=Ethiopic}/u, 'noto-sans-ethiopic'],
  [/\p{scx=Gujarati}/u, 'noto-sans-gujarati'],
  [/\p{scx=Gurmukhi}/u, 'noto-sans-gurmukhi'],
  [/\p{scx=Hebrew}/u, 'noto-sans-hebrew'],
  [/\p{scx=Kannada}/u, 'noto-sans-kannada'],
  [/\p{scx=Khmer}/u, 'noto-sans-khmer'],
  [/\p{scx=Lao}/u, 'noto-sans-lao'],
  [/\p{scx=Malayalam}/u, 'noto-sans-malayalam'],
  [/\p{scx=Myanmar}/u, 'noto-sans-myanmar'],
  [/\p{scx=Oriya}/u, 'noto-sans-oriya'],
  [/\p{scx=Sinhala}/u, 'noto-sans-sinhala'],
  [/\p{scx=Tamil}/u, 'noto-sans-tamil'],
  [/\p{scx=Telugu}/u, 'noto-sans-telugu'],
  [/\p{scx=Thaana}/u, 'noto-sans-thaana'],
  [/\p{scx=Thai}/u, 'noto-sans-thai'],
  [/\p{scx=Tibetan}/u, 'noto-serif-tibetan'],
];
const BASE = 'base';
const JAPANESE = 'noto-sans-jp';
const KOREAN = 'noto-sans-kr';
const CHINESE = 'noto-sans-sc';
const TRADITIONAL_CHINESE = 'noto-sans-tc';
const EMOJI = 'noto-emoji';
/** After the base font: its letters share glyphs and have their dots apart, so that a search would take one for another. */
const ARABIC = 'noto-sans-arabic';
/** Parts of packages whose letters the base font has. */
const BASE_SUBSETS = /^(?:latin|greek|cyrillic|vietnamese)/;

const WEIGHTS = { regular: 400, bold: 700 } as const;
const BASE_FILES = { regular: 'DejaVuSansCondensed.ttf', bold: 'DejaVuSansCondensed-Bold.ttf' } as const;
const BASE_DIRECTORY = join(projectRoot(), 'assets/fonts');

const DIRECTION = /\p{Bidi_Control}/u;

/** Drawn in place of what no font has. */
const REPLACEMENT = '\ufffd';
/** Characters that are never seen themselves, such as joiners and variation selectors. */
const INVISIBLE = /^\p{Default_Ignorable_Code_Point}$/u;

/** Part of a variable font, in a file of its own, and the code points that it has. */
interface Subset {
  readonly file: string;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/**
 * Fonts of one PDF, by grapheme. A file is read when the first text needs it, and let go with the document: the East
 * Asian packages are in some hundred small parts, of which a name needs one to three.
 */
export class PdfFonts {
  /** Graphemes that no font has. */
  readonly unprintable = new Set<string>();
  readonly #graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  readonly #subsets = new Map<string, Promise<readonly Subset[]>>();
  readonly #faces = new Map<string, Promise<Face>>();

  constructor(
    private readonly document: PDFKit.PDFDocument,
    private readonly locale: string,
  ) {}

  /** The base font has Latin, Greek, Cyrillic, Armenian, Georgian and Arabic letters, and most signs. */
  base(weight: Weight): Promise<Face> {
    return this.#face(weight, join(BASE_DIRECTORY, BASE_FILES[weight]), (path) => readFile(path));
  }

  /** The graphemes of `text` as they can be drawn, each with a font that has all of it. */
  async facesOf(text: string, weight: Weight): Promise<readonly DrawnGrapheme[]> {
    const eastAsian = this.#eastAsianOrder(text);
    const known = new Map<string, DrawnGrapheme>();
    const drawn = [];
    for (const { segment } of this.#graphemes.segment(text)) {
      const found = known.get(segment) ?? (await this.#drawnOf(segment, weight, eastAsian));
      known.set(segment, found);
      drawn.push(found);
    }
    return drawn;
  }

  async #drawnOf(grapheme: string, weight: Weight, eastAsian: readonly string[]): Promise<DrawnGrapheme> {
    const visible = Array.from(grapheme).filter((character) => !INVISIBLE.test(character));
    const own = BY_SCRIPT.find(([script]) => script.test(visible[0] ?? ''))?.[1];
    for (const family of [...(own === undefined ? [] : [own]), BASE, ...eastAsian, ARABIC, EMOJI]) {
      const face = await (family === BASE ? this.base(weight) : this.#faceIn(family, visible, weight));
      const text = face && drawable(grapheme, face);
      if (face !== null && text !== null) return { text, face };
    }
    this.unprintable.add(grapheme);
    return { text: REPLACEMENT, face: await this.base(weight) };
  }

  async #faceIn(family: string, characters: readonly string[], weight: Weight): Promise<Face | null> {
    const subset = (await this.#subsetsOf(family)).find(({ ranges }) =>
      characters.every((character) =>
        ranges.some(([from, to]) => from <= codeOf(character) && codeOf(character) <= to),
      ),
    );
    return subset === undefined
      ? null
      : this.#face(weight, subset.file, (path) => readVariable(path, weight));
  }

  /** Chinese, Japanese and Korean share characters that they write differently: the text itself says which, else the reader. */
  #eastAsianOrder(text: string): readonly string[] {
    const first = /[\p{scx=Hiragana}\p{scx=Katakana}]/u.test(text.replaceAll(/\p{Script=Common}/gu, ''))
      ? JAPANESE
      : /\p{Script=Hangul}/u.test(text)
        ? KOREAN
        : ({ ja: JAPANESE, ko: KOREAN, 'zh-Hant': TRADITIONAL_CHINESE }[this.locale] ?? CHINESE);
    return [first, ...[CHINESE, TRADITIONAL_CHINESE, JAPANESE, KOREAN].filter((family) => family !== first)];
  }

  #subsetsOf(family: string): Promise<readonly Subset[]> {
    const known = this.#subsets.get(family) ?? readSubsets(family);
    this.#subsets.set(family, known);
    return known;
  }

  #face(weight: Weight, path: string, read: (path: string) => Promise<Buffer>): Promise<Face> {
    const name = `${path} ${weight}`;
    const known = this.#faces.get(name) ?? this.#register(name, read(path));
    this.#faces.set(name, known);
    return known;
  }

  async #register(name: string, reading: Promise<Buffer>): Promise<Face> {
    const source = await reading;
    const font = create(source);
    if (!('hasGlyphForCodePoint' in font))
      throw new Error(`${name} is a collection of fonts: it must be one font`);
    this.document.registerFont(name, source);
    takeMissingAnchors(font);
    return {
      name,
      has: (codePoint) => font.hasGlyphForCodePoint(codePoint),
      sets: (grapheme) => {
        try {
          font.layout(grapheme, []);
          return true;
        } catch {
          return false;
        }
      },
    };
  }
}

/** Fixes the weight: fontkit cannot embed variable fonts. */
async function readVariable(path: string, weight: Weight): Promise<Buffer> {
  return subsetFont(await readFile(path), undefined, {
    targetFormat: 'truetype',
    variationAxes: { wght: WEIGHTS[weight] },
    keepAllGlyphs: true,
    noHinting: true,
  });
}

/** Reads which file of a package has which code points. */
async function readSubsets(family: string): Promise<readonly Subset[]> {
  const index = createRequire(import.meta.url).resolve(`@fontsource-variable/${family}/unicode.json`);
  const subsets = JSON.parse(await readFile(index, 'utf8')) as Record<string, string>;
  return Object.entries(subsets)
    .filter(([name]) => !BASE_SUBSETS.test(name))
    .map(([name, ranges]) => ({
      file: join(dirname(index), 'files', `${family}-${name.replaceAll(/[[\]]/g, '')}-wght-normal.woff2`),
      ranges: ranges.split(',').map((range) => {
        const [from = '', to = from] = range.slice(2).split('-');
        return [Number.parseInt(from, 16), Number.parseInt(to, 16)] as const;
      }),
    }));
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** The grapheme without invisible characters that the font lacks, which would be boxes; null if it lacks others. */
function drawable(grapheme: string, face: Face): string | null {
  const kept = Array.from(grapheme).filter(
    (character) => !INVISIBLE.test(character) || face.has(codeOf(character)) || DIRECTION.test(character),
  );
  const seen = kept.filter((character) => !DIRECTION.test(character));
  const has = seen.every((character) => face.has(codeOf(character))) && face.sets(seen.join(''));
  return has ? kept.join('') : null;
}

interface MarkPositions {
  applyAnchor: (this: MarkPositions, mark: unknown, anchor: object | null, base: number) => void;
}

const mended = new WeakSet<MarkPositions>();

/**
 * Leaves a mark where it is when its base has no anchor for it, as OpenType allows and Gurmukhi, Gujarati and Khmer fonts
 * do: fontkit 2.0.4 fails at it.
 */
function takeMissingAnchors(font: Font): void {
  font.layout('', []);
  const { _layoutEngine: engine } = font as Font & {
    readonly _layoutEngine?: { readonly engine?: { readonly GPOSProcessor?: MarkPositions } };
  };
  const positions = engine?.engine?.GPOSProcessor;
  if (positions === undefined || positions === null) return;
  const prototype = Object.getPrototypeOf(positions) as MarkPositions;
  if (mended.has(prototype)) return;
  mended.add(prototype);
  const { applyAnchor } = prototype;
  prototype.applyAnchor = function withAnchor(mark, anchor, base) {
    if (anchor !== null) applyAnchor.call(this, mark, anchor, base);
  };
}
