type Channels = readonly [red: number, green: number, blue: number];

export interface BrandColours {
  /** On white: buttons in `accent` with text in `onAccent`; links in `link`. */
  readonly light: { readonly accent: string; readonly onAccent: string; readonly link: string };
  /** On the dark page, where links are in `accent`, too. */
  readonly dark: { readonly accent: string; readonly onAccent: string };
}

const WHITE = '#ffffff';
/** Black itself: neither white nor a dark grey would reach 4.5 on colours in the middle. */
const BLACK = '#000000';
const DARK_PAGE = '#1d2226';
/** WCAG 2.2 §1.4.3, for text. */
const TEXT_CONTRAST = 4.5;
/** WCAG 2.2 §1.4.11, for a button against its surroundings. */
export const BUTTON_CONTRAST = 3;
const HEX = /^#[0-9a-f]{6}$/;

/** `#rrggbb` in small letters, or null when it is none. */
export function parseColour(text: string): string | null {
  const colour = text.trim().toLowerCase();
  return HEX.test(colour) ? colour : null;
}

/** Fault of a colour for buttons and links; null when there is none. */
export function colourFault(text: string): string | null {
  const colour = parseColour(text);
  if (colour === null) return 'must be a colour such as #1a73e8';
  const contrast = contrastRatio(colour, WHITE);
  if (contrast >= BUTTON_CONTRAST) return null;
  // Cut, not rounded: 2.96 must not read as the 3 that it misses.
  const shown = Math.floor(contrast * 10) / 10;
  return `must be darker: its contrast with white is ${shown}, must be at least ${BUTTON_CONTRAST}`;
}

/** The colours of a page and a mail whose buttons have `colour`, as `parseColour` returns it. */
export function brandColours(colour: string): BrandColours {
  const lightened = mixedUntilRead(colour, WHITE, DARK_PAGE);
  return {
    light: { accent: colour, onAccent: textOn(colour), link: mixedUntilRead(colour, BLACK, WHITE) },
    dark: { accent: lightened, onAccent: textOn(lightened) },
  };
}

/** The colour, mixed with as little black or white as gives it the contrast `least` with `page`; default: that of text. */
export function legibleOn(page: string, colour: string, least = TEXT_CONTRAST): string {
  const admixture = contrastRatio(page, BLACK) > contrastRatio(page, WHITE) ? BLACK : WHITE;
  return mixedUntilRead(colour, admixture, page, least);
}

/** WCAG 2.2, "contrast ratio": from 1, the same, to 21, black on white. */
export function contrastRatio(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function textOn(colour: string): string {
  return contrastRatio(WHITE, colour) >= TEXT_CONTRAST ? WHITE : BLACK;
}

/** `colour` with as many percent of `admixture` as give it that contrast with `page`. */
function mixedUntilRead(colour: string, admixture: string, page: string, least = TEXT_CONTRAST): string {
  for (let percent = 0; percent < 100; percent += 1) {
    const mixed = mix(colour, admixture, percent / 100);
    if (contrastRatio(mixed, page) >= least) return mixed;
  }
  return admixture;
}

function mix(colour: string, admixture: string, part: number): string {
  const added = channelsOf(admixture);
  const mixed = channelsOf(colour).map((own, at) => Math.round(own + ((added[at] ?? 0) - own) * part));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** WCAG 2.2, "relative luminance", with the threshold of sRGB (IEC 61966-2-1). */
function luminance(colour: string): number {
  const [red, green, blue] = channelsOf(colour);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

function linear(channel: number): number {
  const value = channel / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function channelsOf(colour: string): Channels {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Colours for senders without one of their own. */
const HOUSE: BrandColours = {
  light: { accent: '#17594a', onAccent: '#ffffff', link: '#17594a' },
  dark: { accent: '#83d3b6', onAccent: '#0b2119' },
};

/** The colours of a sender's pages and opt-in mails; `color` is as `parseColour` returns it, null for ours. */
export function coloursOf(color: string | null): BrandColours {
  return color === null ? HOUSE : brandColours(color);
}
