import { randomInt } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { displayParts, hashApiKey, isWellFormedApiKey, makeApiKey } from './api-key-text.js';

describe('API key', () => {
  it('says which environment it is for', () => {
    expect(makeApiKey('TEST', randomInt)).toMatch(/^mw_test_[0-9A-Za-z]{42}$/);
    expect(makeApiKey('LIVE', randomInt)).toMatch(/^mw_live_[0-9A-Za-z]{42}$/);
  });

  it('is known to be wrong after any typo, without a look-up', () => {
    const key = makeApiKey('TEST', randomInt);
    expect(isWellFormedApiKey(key)).toBe(true);
    for (let position = 'mw_test_'.length; position < key.length; position += 1) {
      const typo = key.slice(0, position) + (key[position] === 'x' ? 'y' : 'x') + key.slice(position + 1);
      expect(isWellFormedApiKey(typo)).toBe(false);
    }
    expect(isWellFormedApiKey(key.slice(0, -1))).toBe(false);
    expect(isWellFormedApiKey(key.replace('test', 'live'))).toBe(false);
    expect(isWellFormedApiKey('')).toBe(false);
  });

  it('is never the same twice and shows only its ends', () => {
    const first = makeApiKey('LIVE', randomInt);
    const second = makeApiKey('LIVE', randomInt);
    expect(hashApiKey(first).equals(hashApiKey(second))).toBe(false);
    expect(displayParts(first)).toEqual({ prefix: 'mw_live_', lastFour: first.slice(-4) });
  });
});
