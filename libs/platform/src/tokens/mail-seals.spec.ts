import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { MailSeals } from './mail-seals.js';

const seals = new MailSeals('a secret of the tests, long enough for it');
const mail = {
  environmentId: fc.integer({ min: 1, max: 3 }),
  deliveryId: fc.uuid(),
  subscriberId: fc.uuid(),
};

describe('what a mail showed', () => {
  it('is read from its link with the mail and its reader alone', () => {
    fc.assert(
      fc.property(fc.record(mail), fc.record(mail), fc.string({ unit: 'grapheme' }), (own, other, text) => {
        const sealed = seals.seal(own, text);
        expect(sealed).toMatch(/^[\w-]+$/);
        expect(seals.open(own, sealed)).toBe(text);
        expect(seals.open({ ...own, subscriberId: other.subscriberId }, sealed)).toBeNull();
        expect(seals.open({ ...own, deliveryId: other.deliveryId }, sealed)).toBeNull();
        expect(seals.open({ ...own, environmentId: own.environmentId + 1 }, sealed)).toBeNull();
        expect(new MailSeals('another secret of the tests').open(own, sealed)).toBeNull();
      }),
    );
  });

  it('is not read when any bit of it is another, or a part is missing', () => {
    const own = {
      environmentId: 1,
      deliveryId: '019aa3b5-0000-7000-8000-000000000000',
      subscriberId: '019aa3b5-0000-7000-8000-000000000001',
    };
    const good = Buffer.from(seals.seal(own, '{"subscriber.first_name":"Ada"}'), 'base64url');
    const opened: unknown[] = [];
    for (let bit = 0; bit < good.length * 8; bit += 1) {
      const forged = Buffer.from(good);
      forged.writeUInt8(forged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      opened.push(seals.open(own, forged.toString('base64url')));
    }
    for (let length = 0; length < good.length; length += 1)
      opened.push(seals.open(own, good.subarray(0, length).toString('base64url')));
    expect(new Set(opened)).toEqual(new Set([null]));
  });
});
