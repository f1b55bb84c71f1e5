type ImageType = 'png' | 'jpeg' | 'gif' | 'webp';

/** What files begin with, in hexadecimal; a dot is any digit (WHATWG MIME Sniffing §6.1). */
const SIGNATURES: readonly (readonly [type: ImageType, pattern: RegExp])[] = [
  ['png', /^89504e470d0a1a0a/],
  ['jpeg', /^ffd8ff/],
  ['gif', /^47494638(37|39)61/],
  ['webp', /^52494646.{8}57454250/],
];
const LONGEST = 12;

/** What kind of picture the bytes are, of those that mail programs show; null when none. */
export function imageType(bytes: Uint8Array): ImageType | null {
  const head = Buffer.from(bytes.subarray(0, LONGEST)).toString('hex');
  return SIGNATURES.find(([, pattern]) => pattern.test(head))?.[0] ?? null;
}
