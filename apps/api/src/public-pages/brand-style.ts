import { createHash } from 'node:crypto';
import { coloursOf, parseColour } from '#kernel';
import { Html } from '../html.js';

/** The style sheet with a sender's colours, and its source for the pages' Content-Security-Policy. */
export interface BrandStyle {
  readonly element: Html;
  readonly source: string;
}

/** `color` as projects have it; null for ours. It stands before the style sheet of all pages, which prints in black. */
export function brandStyle(color: string | null): BrandStyle {
  const { light, dark } = coloursOf(color === null ? null : parseColour(color));
  const sheet = [
    `:root{${variables(light)}--tint:color-mix(in srgb,var(--link) 10%,var(--card));}`,
    `@media (prefers-color-scheme:dark){:root{${variables({ ...dark, link: dark.accent })}}}`,
  ].join('');
  const hash = createHash('sha256').update(sheet).digest('base64');
  return { element: new Html([`<style>${sheet}</style>`], []), source: `'sha256-${hash}'` };
}

function variables(colours: { readonly accent: string; readonly onAccent: string; readonly link: string }) {
  return `--accent:${colours.accent};--on-accent:${colours.onAccent};--link:${colours.link};`;
}
