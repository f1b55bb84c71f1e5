const LEADING = /^([245])\.(\d{1,3})\.(\d{1,3})(?=\s|$)/;
/** `#5.1.1` anywhere, as qmail and its descendants write it. */
const HASHED = /#([245])\.(\d{1,3})\.(\d{1,3})(?!\d|\.\d)/;

/**
 * The enhanced status code of one reply line (RFC 3463 §2), null without one. A code whose class
 * contradicts the reply's is none (RFC 2034 §4): then only the reply code can be believed.
 */
export function enhancedCodeOf(code: number, text: string): string | null {
  const match = LEADING.exec(text) ?? HASHED.exec(text);
  if (match === null || match[1] !== String(code).charAt(0)) return null;
  return `${match[1]}.${Number(match[2])}.${Number(match[3])}`;
}

/** The line without the enhanced code that leads it (RFC 2034 §3 repeats it on every line). */
export function withoutEnhancedCode(text: string): string {
  return text.replace(LEADING, '').trim();
}
