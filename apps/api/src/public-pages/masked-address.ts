const characters = new Intl.Segmenter('en');

/**
 * An address that its owner recognises and a bystander can't use: `jane@example.org` → `j•••@example.org`.
 * A local part of one character is hidden whole.
 */
export function maskedAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const [first = '', ...rest] = Array.from(
    characters.segment(address.slice(0, at)),
    ({ segment }) => segment,
  );
  return `${rest.length > 0 ? first : ''}•••${address.slice(at)}`;
}
