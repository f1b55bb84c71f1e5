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
  /** True when the author chose no colour, so that the dark variant may be ours too. */
  readonly followsReader: boolean;
}

const DEFAULTS = {
  fontFamily: "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif",
  textColor: '#1f2933',
  backgroundColor: '#ffffff',
  linkColor: '#0b57d0',
  width: 600,
};

/** The theme of a document with its gaps filled; the default colours contrast by at least 4.5 : 1 (WCAG 1.4.3). */
export function themeOf(chosen: ContentTheme | undefined): Theme {
  const colours = [chosen?.textColor, chosen?.backgroundColor, chosen?.linkColor];
  const given = Object.fromEntries(Object.entries(chosen ?? {}).filter(([, value]) => value !== undefined));
  const fields = new Set(Object.keys(given));
  return {
    ...DEFAULTS,
    ...given,
    chosen: fields,
    followsReader: colours.every((colour) => colour === undefined),
  };
}

/** Contrast ratio of two hex colours, 1 to 21 (WCAG 2.2, relative luminance). */
export function contrastRatio(one: string, other: string): number {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return ((lighter ?? 0) + 0.05) / ((darker ?? 0) + 0.05);
}

/** White or near-black, whichever reads better on the colour. */
export const readableOn = (background: string): string =>
  contrastRatio('#ffffff', background) >= contrastRatio('#111111', background) ? '#ffffff' : '#111111';

function luminance(hex: string): number {
  const digits = hex.length === 4 ? hex.slice(1).replaceAll(/./g, '$&$&') : hex.slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) =>
    linear(Number.parseInt(digits.slice(at, at + 2), 16) / 255),
  );
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

const linear = (channel: number): number =>
  channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;

const DARK = `@media (prefers-color-scheme: dark) {
  .mw-page, .mw-page > div { background-color: #16181c !important; }
  .mw-text div, .mw-text p, .mw-text li, .mw-text h1, .mw-text h2, .mw-text h3 { color: #f1f3f5 !important; }
  .mw-text a { color: #9ecbff !important; }
}`;

/** Style sheet for what cannot be inlined. */
export const darkModeCss = (theme: Theme): string => (theme.followsReader ? DARK : '');

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
