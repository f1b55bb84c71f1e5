import { describe, expect, it } from '@jest/globals';
import { API_SCOPES } from '#kernel';
import * as fc from '#testing/random/properties';
import { nearest } from './names.js';

describe('The nearest word', () => {
  it('is the one with the fewest typos', () => {
    expect(nearest('topic:read', API_SCOPES)).toBe('topics:read');
    expect(nearest('campaigns:wirte', API_SCOPES)).toBe('campaigns:write');
    expect(nearest('custom-fields:read', API_SCOPES)).toBe('custom_fields:read');
  });

  it('is none where nothing is near', () => {
    expect(nearest('x', API_SCOPES)).toBeNull();
    expect(nearest('', API_SCOPES)).toBeNull();
    expect(nearest('topics:read', [])).toBeNull();
  });

  it('survives one wrong letter anywhere', () => {
    const typo = fc.record({
      scope: fc.constantFrom(...API_SCOPES),
      at: fc.nat(),
      letter: fc.constantFrom('q', '#', 'ß'),
    });
    fc.assert(
      fc.property(typo, ({ scope, at, letter }) => {
        const position = at % (scope.length + 1);
        expect(nearest(scope.slice(0, position) + letter + scope.slice(position), API_SCOPES)).toBe(scope);
      }),
    );
  });
});
