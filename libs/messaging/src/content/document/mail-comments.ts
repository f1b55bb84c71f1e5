import { Parser } from 'htmlparser2';
import { escapeHtml } from '../merge/html-escape.js';
import { holdsPlaceholder, tagPlaceholders } from '../merge/merge-tags.js';
import { type Sanitizing, sanitizeStyleSheet } from './css-sanitizer.js';
import { BLOCK_TAGS, inertElement, INLINE_TAGS } from './inert-elements.js';

/** `<!--[if mso]>…<![endif]-->`: Outlook alone reads what is in it. */
const HIDDEN = /^<!--(\[if [^\]<>]{1,100}\]>)([^]*)(<!\[endif\])-->$/i;
/** `<!--[if !mso]><!-->` and `<!--<![endif]-->`, or `<![if !mso]>` and `<![endif]>`: all but Outlook read what is between. */
const REVEALING =
  /^(?:<!--\[if [^\]<>]{1,100}\](?:><!(?:-- ?)?| ?> ?)-->|<!-- ?<!\[endif\]-->|<!\[(?:if [^\]<>]{1,100}|endif)\]>)$/i;

/** Elements that mean something in what only Outlook reads. */
const OUTLOOK_TAGS = new Set([...INLINE_TAGS, ...BLOCK_TAGS, 'html', 'head', 'body', 'xml', 'noscript']);
const OFFICE_TAG = /^(?:v|o|w|m|st1):[a-z\d]+$/;
/** Names of attributes that VML and Office add; addresses among them are judged as such. */
const OFFICE_ATTRIBUTE = /^[a-z][a-z\d]*(?::[a-z\d]+)?$/;

const PARTS = /<style(?=[\s>])[^<>]*>[^]*?<\/style\s*>|<\/?[a-z][^\s/>]*(?:"[^"]*"|'[^']*'|[^"'<>])*>|</gi;

/** Masked comment as it may stay; its merge tags alone where it may not, so that a condition around it still holds. */
export function keptComment(comment: string, sanitizing: Sanitizing): string {
  if (REVEALING.test(comment)) return comment;
  const [, opening, content, closing] = HIDDEN.exec(comment) ?? [];
  if (opening !== undefined && content !== undefined && closing !== undefined)
    return hidden([opening, content, closing], sanitizing);
  if (!holdsPlaceholder(comment) && /^<!--(?!-?>)(?:(?!<!--|--!?>)[^])*?(?<!<!-)-->$/.test(comment))
    return comment;
  return tagPlaceholders(comment);
}

function hidden(
  [opening, content, closing]: readonly [string, string, string],
  sanitizing: Sanitizing,
): string {
  const clean = content.replaceAll(PARTS, (part) => cleanPart(part, sanitizing));
  // A hyphen beside a merge tag could become the end of the comment.
  const isClosedBy = /--!?>|<!--|-[\uFDD0-\uFDD2]|[\uFDD0-\uFDD2]-/.test(clean);
  if (!isClosedBy && sanitizing.mask.isWhole(clean)) return `<!--${opening}${clean}${closing}-->`;
  sanitizing.removed(`<!--${opening}…`);
  return tagPlaceholders(content);
}

function cleanPart(part: string, sanitizing: Sanitizing): string {
  if (part === '<') return '&lt;';
  if (/^<style/i.test(part)) {
    const css = part.slice(part.indexOf('>') + 1, part.lastIndexOf('</'));
    return `<style>${sanitizeStyleSheet(css, sanitizing)}</style>`;
  }
  const [, slash = '', name = ''] = /^<(\/?)([^\s/>]+)/.exec(part) ?? [];
  const tag = name.toLowerCase();
  if (!OUTLOOK_TAGS.has(tag) && !OFFICE_TAG.test(tag)) {
    if (tag !== 'meta' || /refresh/i.test(part)) sanitizing.removed(`<${slash}${tag}>`);
    return tagPlaceholders(part);
  }
  if (slash !== '') return `</${name}>`;
  const known = OFFICE_TAG.test(tag) ? OFFICE_ATTRIBUTE : undefined;
  const attributes = Object.entries(inertElement(tag, attributesOf(part), sanitizing, known)).map(
    ([key, value]) => (value === '' ? ` ${key}` : ` ${key}="${escapeHtml(value)}"`),
  );
  return `<${name}${attributes.join('')}${part.endsWith('/>') ? ' /' : ''}>`;
}

function attributesOf(openTag: string): Record<string, string> {
  let attributes: Record<string, string> = {};
  const parser = new Parser({ onopentag: (_, found) => (attributes = found) });
  parser.write(openTag);
  parser.end();
  return attributes;
}
