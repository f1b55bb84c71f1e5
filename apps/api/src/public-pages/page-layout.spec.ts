import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { contrastRatio } from '#kernel';
import { Wording } from '#wording';
import { html } from '../html.js';
import { brandStyle, page, signs, styleElement } from './page-layout.js';

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

const PAGES = { light: '#ffffff', dark: '#1d2226' };
const coloursIn = (sheet: string) =>
  [...sheet.matchAll(/:root\{([^}]*)\}/g)].map(([, block = '']) =>
    Object.fromEntries(
      [...block.matchAll(/--([a-z-]+):(#[0-9a-f]{6})/g)].map(([, name, colour]) => [name, colour]),
    ),
  );

describe('The colours of a sender', () => {
  it.each([null, '#1a73e8', '#c8102e', '#949494', '#000000', '#7b1fa2'])(
    'can be read on their pages and buttons, light and dark: %s (WCAG 1.4.3, 1.4.11)',
    (color) => {
      const { element, source } = brandStyle(color);
      const sheet = element.toString().replaceAll(/<\/?style>/g, '');
      expect(source).toBe(`'sha256-${createHash('sha256').update(sheet).digest('base64')}'`);
      const [lightBrand = {}, darkBrand = {}] = coloursIn(sheet);
      for (const [colours, ground] of [
        [lightBrand, PAGES.light],
        [darkBrand, PAGES.dark],
      ] as const) {
        expect(contrastRatio(colours['on-accent'] ?? '', colours['accent'] ?? '')).toBeGreaterThanOrEqual(
          4.5,
        );
        expect(contrastRatio(colours['link'] ?? '', ground)).toBeGreaterThanOrEqual(4.5);
        expect(contrastRatio(colours['accent'] ?? '', ground)).toBeGreaterThanOrEqual(3);
      }
    },
  );
});

describe('The logo of a sender', () => {
  const shown = (logoUrl: string | null) =>
    page(
      {
        wording: new Wording('en'),
        locale: 'en',
        sender: { name: 'Tea & Co', postalAddress: 'Street 1', logoUrl, color: null },
      },
      { heading: 'Hello', sign: signs.letter, body: html`` },
    );

  it('stands above the page in place of the name, and nothing else may be loaded', () => {
    const { html: markup, policy } = shown('https://cdn.example/tea"logo.png?a=1');
    expect(markup.toString()).toContain(
      '<img class="logo" src="https://cdn.example/tea&quot;logo.png?a=1" alt="Tea &amp; Co" />',
    );
    expect(policy).toContain('; img-src https://cdn.example; ');
  });

  it.each([null, 'http://cdn.example/tea.png', 'javascript:alert(1)'])('is not shown of %j', (logoUrl) => {
    const { html: markup, policy } = shown(logoUrl);
    expect(markup.toString()).not.toContain('<img');
    expect(markup.toString()).toContain('<bdi>Tea &amp; Co</bdi>');
    expect(policy).not.toContain('img-src');
  });
});
