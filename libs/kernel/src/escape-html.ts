const REPLACEMENT: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const SPECIAL = /[&<>"']/;
const EVERY_SPECIAL = /[&<>"']/g;

/** Escapes text for HTML content and for quoted attribute values. */
export function escapeHtml(text: string): string {
  return SPECIAL.test(text) ? text.replace(EVERY_SPECIAL, (character) => REPLACEMENT[character] ?? '') : text;
}
