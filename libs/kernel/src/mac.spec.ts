import { createHmac } from 'node:crypto';
import { expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { Mac } from './mac.js';

it('is the HMAC-SHA-256 of whatever was signed before', () => {
  const octets = fc.uint8Array({ minLength: 27, maxLength: 27 });
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.array(octets), (secret, purpose, messages) => {
      const mac = new Mac(secret, purpose, 27);
      const key = createHmac('sha256', secret).update(purpose).digest();
      for (const message of messages)
        expect(Buffer.from(mac.of(Buffer.from(message), 16), 'latin1')).toEqual(
          createHmac('sha256', key).update(message).digest().subarray(0, 16),
        );
    }),
  );
});
