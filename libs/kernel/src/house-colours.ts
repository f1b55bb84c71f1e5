import { type BrandColours, brandColours } from './brand-colour.js';

/** Of who has no colour of their own. */
const HOUSE: BrandColours = {
  light: { accent: '#17594a', onAccent: '#ffffff', link: '#17594a' },
  dark: { accent: '#83d3b6', onAccent: '#0b2119' },
};

/** The colours of a sender's pages and opt-in mails; `color` is as `parseColour` returns it, null for ours. */
export function coloursOf(color: string | null): BrandColours {
  return color === null ? HOUSE : brandColours(color);
}
