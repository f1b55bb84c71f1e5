import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { Mac } from './mac.js';

describe('Mac', () => {
  it('is the beginning of HMAC-SHA-256, whatever it was asked before', () => {
    const key = createHmac('sha256', 'secret').update('purpose').digest();
    const mac = new Mac('secret', 'purpose');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 256 }), fc.integer({ min: 1, max: 32 }), (octets, length) => {
        const right = createHmac('sha256', key).update(octets).digest().subarray(0, length);
        expect(mac.of(Buffer.from(octets), length)).toEqual(right);
      }),
    );
  });
});
