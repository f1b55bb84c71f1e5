import { describe, expect, it } from '@jest/globals';
import { enhancedCodeOf } from './enhanced-code.js';

describe('the enhanced status code', () => {
  it.each([
    [550, '5.1.1 No such user', '5.1.1'],
    [250, '2.0.0', '2.0.0'],
    [451, '4.7.650 The mail server has been temporarily rate limited', '4.7.650'],
    [554, 'Sorry, no mailbox here by that name. (#5.1.1)', '5.1.1'],
    [550, '#5.7.1 Your access is rejected', '5.7.1'],
  ])('of %d %s is read', (code, text, expected) => {
    expect(enhancedCodeOf(code, text)).toBe(expected);
  });

  it.each([
    [550, 'No such user'],
    [550, '4.2.2 The class contradicts the reply'],
    [550, '5.1.1.1 is an address or a version'],
    [550, 'Host 5.1.1 is listed'],
    [550, '5.1000.1 No such subject'],
    [354, 'Go on'],
  ])('of %d %s is none', (code, text) => {
    expect(enhancedCodeOf(code, text)).toBeNull();
  });
});
