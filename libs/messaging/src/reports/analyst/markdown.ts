/** Somebody's words inside a sentence of Markdown: one line, at most `longest` characters, without any mark-up. */
export function plainText(text: string, longest: number): string {
  return shortened(oneLine(text), longest).replaceAll(/[\\`*_[\]<>&~|#!]/g, String.raw`\$&`);
}

/** Text shown as it is, as code: nothing in it is mark-up, and no renderer makes a link of it. */
export function codeSpan(text: string, longest: number): string {
  return `\`${shortened(oneLine(text), longest).replaceAll('`', '%60')}\``;
}

/**
 * Markdown that a model wrote, made harmless: no HTML, no links and no images (their texts stay), no control characters,
 * at most `longest` characters, cut at the end of a line. An empty string when nothing is left.
 */
export function harmlessMarkdown(text: string, longest: number): string {
  const plain = text
    .replaceAll(/<(script|style)\b.*?<\/\1\s*>/gis, '')
    .replaceAll(/<[a-z!/?][^>]*>/gi, '')
    .replaceAll('<', '&lt;')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n]/gu, '')
    .replaceAll(/^ {0,3}\[[^\]]*\]:.*$/gm, '')
    .replaceAll(/!?\[([^\]]*)\]\s?(?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replaceAll(/(?:(?:https?|ftp):\/\/|\b(?:javascript|data|vbscript|file|mailto):|\bwww\.)\S*/gi, '')
    // What the removals may have put together is no link either (CommonMark 6.3: nothing may stand between).
    .replaceAll(/\](?=[([:])/g, '] ')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  return cutAtLine(plain, longest);
}

function cutAtLine(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const cut = text.slice(0, longest);
  const end = cut.lastIndexOf('\n');
  return (end > 0 ? cut.slice(0, end) : cut).trimEnd();
}

function shortened(text: string, longest: number): string {
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}
