const SIGNATURES: readonly (readonly [type: 'png' | 'jpeg' | 'gif' | 'webp', pattern: RegExp])[] = [
  ['png', /^\x89PNG\r\n\x1a\n/],
  ['jpeg', /^\xff\xd8\xff/],
  ['gif', /^GIF8[79]a/],
  ['webp', /^RIFF[^]{4}WEBP/],
];
const LONGEST = 12;

/** What kind of picture the bytes are, of those that mail programs show; null when none (WHATWG MIME Sniffing §6.1). */
export function imageType(bytes: Uint8Array): 'png' | 'jpeg' | 'gif' | 'webp' | null {
  const head = Buffer.from(bytes.subarray(0, LONGEST)).toString('latin1');
  return SIGNATURES.find(([, pattern]) => pattern.test(head))?.[0] ?? null;
}
