import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { SecretBox, UnreadableSecretError } from './secret-box.js';

const KEY = 'a master key of the tests, long enough';
const OTHER_KEY = 'the next master key of the tests, long';
const context = { purpose: 'dkim-key', owner: { projectId: 7, environmentId: 12 } };

describe('A sealed secret', () => {
  it('opens again, whatever it is, and looks different each time', () => {
    const box = new SecretBox(KEY);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
        const sealed = box.seal(secret, context);
        expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+$/);
        expect(new SecretBox(KEY).open(sealed, context)).toBe(secret);
        expect(box.seal(secret, context)).not.toBe(sealed);
      }),
    );
  });

  it.each([
    ['another project', { ...context, owner: { projectId: 8, environmentId: 12 } }],
    ['another environment', { ...context, owner: { projectId: 7, environmentId: 13 } }],
    ['another use', { ...context, purpose: 'webhook-secret' }],
  ])('does not open for %s', (_whose, other) => {
    const sealed = new SecretBox(KEY).seal('secret', context);
    expect(() => new SecretBox(KEY).open(sealed, other)).toThrow(UnreadableSecretError);
  });

  it('does not open when a bit of it was changed', () => {
    const box = new SecretBox(KEY);
    const sealed = box.seal('secret', context);
    const [prefix, bytes] = [box.currentPrefix, Buffer.from(sealed.split('.')[2] ?? '', 'base64url')];
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => box.open(prefix + changed.toString('base64url'), context)).toThrow(UnreadableSecretError);
    }
  });

  it.each(['', 'v1', 'v1.00000000.', 'v2.00000000.AAAA', 'secret', 'v1.00000000.AAAA'])(
    'is not %j',
    (text) => {
      expect(() => new SecretBox(KEY).open(text, context)).toThrow(UnreadableSecretError);
    },
  );

  it('opens with the previous master key while that is configured, and says which key is missing after', () => {
    const sealed = new SecretBox(KEY).seal('secret', context);
    const both = new SecretBox(OTHER_KEY, KEY);
    expect(both.open(sealed, context)).toBe('secret');
    expect(sealed.startsWith(both.currentPrefix)).toBe(false);
    const anew = both.seal('secret', context);
    expect(new SecretBox(OTHER_KEY).open(anew, context)).toBe('secret');
    expect(() => new SecretBox(OTHER_KEY).open(sealed, context)).toThrow(
      `sealed with another MASTER_KEY (its id is ${sealed.slice(3, 11)})`,
    );
  });
});
