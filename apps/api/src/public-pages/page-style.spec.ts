import { describe, expect, it } from '@jest/globals';
import { styleElement } from './page-style.js';

const [light = {}, dark = {}] = [...styleElement.toString().matchAll(/:root \{([^}]*)\}/g)].map(
  ([, block = '']) =>
    Object.fromEntries(
      [...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6})/g)].map(([, name, colour]) => [name, colour]),
    ),
);

describe.each([
  ['light', light],
  ['dark', { ...light, ...dark }],
])('the colours of the pages, %s', (_scheme, colours: Record<string, string>) => {
  it.each([
    ['ink', 'paper'],
    ['ink', 'card'],
    ['quiet', 'paper'],
    ['quiet', 'card'],
  ])('let %s be read on %s (WCAG 1.4.3)', (text, ground) => {
    expect(contrast(colours[text], colours[ground])).toBeGreaterThanOrEqual(4.5);
  });

  it.each([
    ['button-edge', 'card'],
    ['second', 'card'],
  ])('set %s off from %s (WCAG 1.4.11)', (shape, ground) => {
    expect(contrast(colours[shape], colours[ground])).toBeGreaterThanOrEqual(3);
  });
});

/** WCAG 2.2, definition of contrast ratio. */
function contrast(one = '', other = ''): number {
  const [darker = Number.NaN, lighter = Number.NaN] = [luminance(one), luminance(other)].sort(
    (a, b) => a - b,
  );
  return (lighter + 0.05) / (darker + 0.05);
}

/** WCAG 2.2, definition of relative luminance. */
function luminance(colour: string): number {
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN] = [1, 3, 5]
    .map((start) => Number.parseInt(colour.slice(start, start + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
