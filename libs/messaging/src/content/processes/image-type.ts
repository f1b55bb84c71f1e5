/** Types of images that mail programs show, by their extension in a URL. */
export const IMAGE_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
} as const;

export type ImageType = (typeof IMAGE_TYPES)[keyof typeof IMAGE_TYPES];

/** Starts of files (PNG 3rd ed. §5.2, JPEG B.1.1.3, GIF89a, RFC 9649 §2.4). */
const SIGNATURES: readonly (readonly [ImageType, start: string, rest?: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF', 'WEBPVP8'],
];
/** Behind the size of the file. */
const REST_AT = 8;

/** Type by the first octets; null: no image of these types. */
export function imageTypeOf(content: Uint8Array): ImageType | null {
  const text = Buffer.from(content.subarray(0, 16)).toString('latin1');
  const found = SIGNATURES.find(
    ([, start, rest = '']) => text.startsWith(start) && (rest === '' || text.startsWith(rest, REST_AT)),
  );
  return found?.[0] ?? null;
}
