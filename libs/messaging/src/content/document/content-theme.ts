import {
  type BrandColours,
  BUTTON_CONTRAST,
  coloursOf,
  contrastRatio as contrastOf,
  legibleOn,
  parseColour,
} from '#kernel';
import type { ContentTheme } from './content-document.js';

/** Colours and sizes of a mail, complete. */
export interface Theme {
  readonly fontFamily: string;
  readonly textColor: string;
  readonly backgroundColor: string;
  readonly linkColor: string;
  readonly width: number;
  /** Fields that the author chose. */
  readonly chosen: ReadonlySet<string>;
  /** Of a button without a colour of its own. */
  readonly buttonColor: string;
  /** True when the author chose no colour, so that the dark variant may be ours too. */
  readonly followsReader: boolean;
  /** What then is of links and buttons in the dark. */
  readonly dark: BrandColours['dark'];
}

const DEFAULTS = {
  fontFamily: "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif",
  textColor: '#1f2933',
  backgroundColor: '#ffffff',
  width: 600,
};

/**
 * The theme of a document with its gaps filled. Links and buttons have the brand's colour, as on the project's pages, as far as
 * it can be read on the background (WCAG 1.4.3, 1.4.11); `brand` is #rrggbb, null for ours.
 */
export function themeOf(chosen: ContentTheme | undefined, brand: string | null = null): Theme {
  const colours = [chosen?.textColor, chosen?.backgroundColor, chosen?.linkColor];
  const given = Object.fromEntries(Object.entries(chosen ?? {}).filter(([, value]) => value !== undefined));
  const { light, dark } = coloursOf(brand === null ? null : parseColour(brand));
  const background = longHex(chosen?.backgroundColor ?? DEFAULTS.backgroundColor);
  const fields = new Set(Object.keys(given));
  return {
    ...DEFAULTS,
    linkColor: legibleOn(background, light.accent),
    buttonColor: chosen?.linkColor ?? legibleOn(background, light.accent, BUTTON_CONTRAST),
    ...given,
    chosen: fields,
    followsReader: colours.every((colour) => colour === undefined),
    dark,
  };
}

/** Contrast ratio of two hex colours, 1 to 21 (WCAG 2.2, relative luminance). */
export const contrastRatio = (one: string, other: string): number => contrastOf(longHex(one), longHex(other));

const longHex = (hex: string): string =>
  hex.length === 4 ? `#${hex.slice(1).replaceAll(/./g, '$&$&')}` : hex;

/** White or near-black, whichever reads better on the colour. */
export const readableOn = (background: string): string =>
  contrastRatio('#ffffff', background) >= contrastRatio('#111111', background) ? '#ffffff' : '#111111';

const darkCss = ({ accent, onAccent }: Theme['dark']): string => `@media (prefers-color-scheme: dark) {
  .mw-page, .mw-page > div { background-color: #16181c !important; }
  .mw-text div, .mw-text p, .mw-text li, .mw-text h1, .mw-text h2, .mw-text h3 { color: #f1f3f5 !important; }
  .mw-text a { color: ${accent} !important; }
  .mw-button td, .mw-button a { background-color: ${accent} !important; color: ${onAccent} !important; }
}`;

/** Style sheet for what cannot be inlined. */
export const darkModeCss = (theme: Theme): string => (theme.followsReader ? darkCss(theme.dark) : '');

/** The look of plain elements for an author's own style sheets to change: they follow it in the head. */
export const plainCss = (theme: Theme): string =>
  `p{margin:0 0 16px}ul,ol{margin:0 0 16px;padding:0 0 0 24px}h1,h2,h3{margin:0;line-height:1.25}a{color:${theme.linkColor}}`;

/** Rules that are inlined into the text blocks. */
export const textCss = (theme: Theme): string => `
.mw-text p { margin: 0 0 16px; }
.mw-text ul, .mw-text ol { margin: 0 0 16px; padding: 0 0 0 24px; }
[dir=rtl] .mw-text ul, [dir=rtl] .mw-text ol { padding: 0 24px 0 0; }
.mw-text h1, .mw-text h2, .mw-text h3 { margin: 0; line-height: 1.25; color: inherit; }
.mw-text a { color: ${theme.linkColor}; text-decoration: underline; }
.mw-html table[style*=padding] { border-collapse: separate; }
`;
