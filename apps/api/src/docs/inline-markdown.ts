import { html, type Html } from '../public-pages/html.js';

/** Where a link of a page leads from the page as served; null when it leads to nothing that is served. */
export type LinkTarget = (href: string) => string | null;

const SPANS = new RegExp(
  [
    /(?<ticks>`+)(?<code>.+?)\k<ticks>(?!`)/,
    /\[(?<label>(?:[^[\]`]|`[^`]*`)+)\]\((?<href>[^)\s]+)\)/,
    /<(?<url>https?:\/\/[^>\s]+)>/,
    /\*\*(?<strong>.+?)\*\*/,
    /\*(?<emphasis>[^*\s](?:[^*]*[^*\s])?)\*/,
    /\\(?<escaped>[\\`*_{}[\]()#+.!|<>-])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gs',
);

/** One run of text: code, links, emphasis and escapes (CommonMark §6). Everything else is text, HTML too. */
export function inlineMarkdown(text: string, target: LinkTarget): Html {
  const pieces: (Html | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(SPANS)) {
    pieces.push(text.slice(end, match.index), span(match.groups ?? {}, target));
    end = match.index + match[0].length;
  }
  return html`${[...pieces, text.slice(end)]}`;
}

/** What a reader sees of it, for anchors and titles. */
export function plainText(text: string): string {
  return text.replaceAll(SPANS, (...parts: unknown[]) => {
    const groups = parts.at(-1) as Partial<Record<string, string>>;
    if (groups['code'] !== undefined) return groups['code'];
    const inner = groups['label'] ?? groups['strong'] ?? groups['emphasis'];
    return inner === undefined ? (groups['url'] ?? groups['escaped'] ?? '') : plainText(inner);
  });
}

function span(groups: Partial<Record<string, string>>, target: LinkTarget): Html {
  const { code, label, href, url, strong, emphasis, escaped } = groups;
  if (code !== undefined) return html`<code>${code}</code>`;
  if (label !== undefined && href !== undefined) return link(href, inlineMarkdown(label, target), target);
  if (url !== undefined) return html`<a href="${url}">${url}</a>`;
  if (strong !== undefined) return html`<strong>${inlineMarkdown(strong, target)}</strong>`;
  if (emphasis !== undefined) return html`<em>${inlineMarkdown(emphasis, target)}</em>`;
  return html`${escaped ?? ''}`;
}

function link(href: string, label: Html, target: LinkTarget): Html {
  const address = target(href);
  return address === null ? label : html`<a href="${address}">${label}</a>`;
}
