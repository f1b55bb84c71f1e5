import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { contrastRatio } from '#kernel';
import { Wording } from '#wording';
import { brandStyle } from './brand-style.js';
import { html } from '../html.js';
import { page, signs } from './page-layout.js';

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
      const [light = {}, dark = {}] = coloursIn(sheet);
      for (const [colours, ground] of [
        [light, PAGES.light],
        [dark, PAGES.dark],
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
