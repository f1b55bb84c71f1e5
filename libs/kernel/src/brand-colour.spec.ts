import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { brandColours, colourFault, contrastRatio, parseColour } from './brand-colour.js';

const anyColour = fc
  .integer({ min: 0, max: 0xff_ff_ff })
  .map((value) => `#${value.toString(16).padStart(6, '0')}`);

describe('A brand colour', () => {
  it.each([
    ['#1A73E8', '#1a73e8'],
    [' #000000 ', '#000000'],
  ])('%j is read as %s', (text, colour) => {
    expect(parseColour(text)).toBe(colour);
  });

  it.each(['', 'blue', '#fff', '1a73e8', '#1a73e8ff', '#12345g', 'rgb(0,0,0)'])('%j is refused', (text) => {
    expect(parseColour(text)).toBeNull();
    expect(colourFault(text)).toBe('must be a colour such as #1a73e8');
  });

  it.each([
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#000000', 21],
    ['#1a73e8', '#1a73e8', 1],
    ['#777777', '#ffffff', 4.48],
    ['#ff0000', '#ffffff', 4],
    ['#0000ff', '#ffffff', 8.59],
  ])('%s on %s has the contrast %d', (one, other, contrast) => {
    expect(contrastRatio(one, other)).toBeCloseTo(contrast, 2);
  });

  it.each([
    ['#ffff00', 1],
    ['#ffd400', 1.4],
    ['#959595', 2.9],
  ])('%s cannot be told from a white page, which is said with its contrast', (colour, contrast) => {
    expect(colourFault(colour)).toBe(
      `must be darker: its contrast with white is ${contrast}, must be at least 3`,
    );
  });

  it.each(['#1a73e8', '#0088cc', '#000000', '#949494', '#E5002B'])('%s may be one', (colour) => {
    expect(colourFault(colour)).toBeNull();
  });

  it('that is dark has white text, is lightened on the dark page and is as it is in links', () => {
    expect(brandColours('#1d4ed8')).toEqual({
      light: { accent: '#1d4ed8', onAccent: '#ffffff', link: '#1d4ed8' },
      dark: { accent: '#6385e4', onAccent: '#000000' },
    });
  });

  it('that is bright has black text and is darkened in links', () => {
    expect(brandColours('#0088cc')).toEqual({
      light: { accent: '#0088cc', onAccent: '#000000', link: '#007dbc' },
      dark: { accent: '#1290d0', onAccent: '#000000' },
    });
  });

  it('that is accepted can be read wherever it is used', () => {
    const accepted = anyColour.filter((colour) => colourFault(colour) === null);
    fc.assert(
      fc.property(accepted, (colour) => {
        const { light, dark } = brandColours(colour);
        const texts = [
          [light.onAccent, light.accent],
          [light.link, '#ffffff'],
          [dark.onAccent, dark.accent],
          [dark.accent, '#1d2226'],
        ] as const;
        for (const [text, ground] of texts) expect(contrastRatio(text, ground)).toBeGreaterThanOrEqual(4.5);
        expect(contrastRatio(light.accent, '#ffffff')).toBeGreaterThanOrEqual(3);
      }),
    );
  });
});
