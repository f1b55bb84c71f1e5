import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Environment } from '#kernel';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 36;
const CHECKSUM_LENGTH = 6;
const FORM = new RegExp(`^mw_(live|test)_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * Makes a key: `mw_test_` or `mw_live_`, 36 characters of base62 (214 bits) and a CRC-32 of what stands
 * before it, so that a typo or a truncated key is known for one without a look-up.
 * `randomInt(max)` gives whole numbers from 0 to max − 1 and must be cryptographically strong.
 */
export function makeApiKey(environment: Environment, randomInt: (max: number) => number): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62.charAt(randomInt(BASE62.length))).join(
    '',
  );
  const body = `mw_${environment.toLowerCase()}_${random}`;
  return body + checksum(body);
}

/** Whether `key` has the form of a key and its checksum holds. */
export function isWellFormedApiKey(key: string): boolean {
  return FORM.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
}

/** What is stored in the key's place: SHA-256, which is enough for 214 random bits. */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The part that may be shown: `mw_test_` and the last four characters. */
export function displayParts(key: string): { readonly prefix: string; readonly lastFour: string } {
  return { prefix: key.slice(0, 'mw_test_'.length), lastFour: key.slice(-4) };
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position += 1) {
    digits = BASE62.charAt(rest % BASE62.length) + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}
