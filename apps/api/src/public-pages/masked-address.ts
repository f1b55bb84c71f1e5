const characters = new Intl.Segmenter('en');

/**
 * Masks an address so that its owner recognises it and nobody else can use it: `jane@example.org` →
 * `j•••@example.org`. A local part of one character is hidden completely.
 */
export function maskedAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const [first = '', ...rest] = Array.from(
    characters.segment(address.slice(0, at)),
    ({ segment }) => segment,
  );
  return `${rest.length > 0 ? first : ''}•••${address.slice(at)}`;
}
