import { describe, expect, it } from '@jest/globals';
import { assert, property, string } from '#testing/random/properties';
import { accepts } from './input.guard.js';

describe('accepts', () => {
  it('takes everything without a header', () => {
    for (const header of [undefined, '', 'nonsense']) expect(accepts(header, 'application/json')).toBe(true);
  });

  it('lets the most specific range decide', () => {
    expect(accepts('application/*;q=0.5', 'application/json')).toBe(true);
    expect(accepts('application/json;q=0, application/*', 'application/json')).toBe(false);
    expect(accepts('text/html, application/*;q=0', 'application/json')).toBe(false);
    expect(accepts('*/*;q=0', 'application/json')).toBe(false);
    expect(accepts('Application/JSON; charset=utf-8', 'application/json')).toBe(true);
  });

  it('never fails, whatever is sent', () => {
    assert(property(string(), (header) => typeof accepts(header, 'application/json') === 'boolean'));
  });
});
