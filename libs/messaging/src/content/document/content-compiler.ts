import type { ContentDocument } from './content-document.js';
import { assertInert } from './content-inspection.js';
import { hasUnsubscribeAddress, hasUnsubscribeLink, hasViewAddress, hasViewLink } from './content-links.js';
import { showsAddress, showsAddressInText } from './content-address.js';
import { htmlToPlainText, plainTextToHtml, withoutTagLines } from './content-text.js';
import { textCss, themeOf } from './content-theme.js';
import { escapeHtml } from '../merge/html-escape.js';
import { MergeTagMask } from '../merge/merge-tags.js';
import { appendSection, documentMjml } from './mjml-document.js';
import { RemovedContent } from './removed-content.js';

/** Who sends, as mails show it, and the words of their footer. */
export interface FooterContent {
  readonly senderName: string;
  readonly postalAddress: string;
  /** #rrggbb, of the project's buttons and links; null: ours. */
  readonly color: string | null;
  /** BCP 47, of the words. */
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly words: Readonly<Record<FooterLink | `${FooterLink}Link`, string>>;
  readonly privacy: FooterPrivacy;
}

/** Where the sender tells of its readers' data; each null where it does not say. */
export interface FooterPrivacy {
  /** https. */
  readonly url: string | null;
  /** What the link is called, and the line of it in a text. */
  readonly words: string;
  readonly line: string | null;
  readonly email: string | null;
  /** The line that names the address. */
  readonly contact: string | null;
}

type FooterLink = 'unsubscribe' | 'preferences' | 'view';

export interface ContentInput {
  /** Liquid template. */
  readonly subject: string;
  /** Liquid template too. */
  readonly fromName?: string | null;
  readonly previewText: string | null;
  readonly document: ContentDocument | null;
  readonly contentText: string | null;
  readonly footer: FooterContent;
  /** BCP 47 tag of the content's language; none is claimed when it is not given. */
  readonly language?: string;
}

/** Liquid templates of one mail, ready for `compileMergeTemplate`. */
export interface CompiledContent {
  readonly subject: string;
  /** Blank: the project's name stands in From. */
  readonly fromName: string;
  readonly html: string;
  readonly text: string;
  /** What the author wrote and no mail can carry, each with its path: `contentJson.blocks[2].html: <script>`. */
  readonly removed: readonly string[];
}

/**
 * Compiles content to the templates of its parts: blocks → MJML → HTML with inlined styles, and plain text.
 * Reads no file and fetches nothing. A footer adds what a part does not show itself: the postal address, and the
 * unsubscribe link with one to the preferences, and the one to the mail on the web.
 * @throws {MergeTemplateError} when a merge tag is not closed
 * @throws {ContentCompileError} when MJML cannot be compiled or yields anything that is not inert
 */
export async function compileContent(input: ContentInput): Promise<CompiledContent> {
  const mask = new MergeTagMask();
  const removed = new RemovedContent(mask);
  const maskedHtml = await compileHtml(input, { mask, removed });
  return {
    subject: input.subject,
    fromName: input.fromName ?? '',
    html: mask.restore(maskedHtml, '&#123;'),
    text: compileText(input, maskedHtml, mask),
    removed: removed.list,
  };
}

/** The document to show; a mail with a text part only gets its text as the one block. */
function shownDocument({ document, contentText }: ContentInput, mask: MergeTagMask): ContentDocument {
  if (document !== null && document.blocks.length > 0) return document;
  const html = plainTextToHtml(withoutTagLines(mask.hide(contentText ?? '')), mask);
  const blocks: ContentDocument['blocks'] =
    html === '' ? [] : [{ type: 'text', html: mask.restoreHtml(html) }];
  return { ...document, blocks };
}

async function compileHtml(
  input: ContentInput,
  { mask, removed }: { readonly mask: MergeTagMask; readonly removed: RemovedContent },
): Promise<string> {
  const document = shownDocument(input, mask);
  const theme = themeOf(document.theme, input.footer.color);
  const frame = {
    title: escapeHtml(mask.hide(input.subject)),
    preview: escapeHtml(mask.hide(input.previewText ?? '')),
    language: LANGUAGE.exec(input.language ?? '')?.[0] ?? null,
    theme,
  };
  const mjml = documentMjml(document, frame, { mask, removed });
  const footer = footerHtml(input.footer, mask.restore(mjml, '&#123;'), mask);
  const html = await renderMjml(footer === '' ? mjml : appendSection(mjml, footer));
  const { default: juice } = await import('juice');
  const inlined = juice(html, {
    applyStyleTags: false,
    removeStyleTags: false,
    insertPreservedExtraCss: false,
    extraCss: textCss(theme),
  });
  assertInert(inlined);
  return /<pre[\s>]/.test(inlined) ? inlined : inlined.replaceAll(/\n\s*/g, '\n');
}

const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;

/** MJML hides a preview by white letters of one pixel, which is what filters look for in unwanted mail. */
const PREVIEW_STYLE =
  'display:none;font-size:1px;color:#ffffff;line-height:1px;max-height:0px;max-width:0px;opacity:0;overflow:hidden;';
const HIDDEN_STYLE = 'display:none;max-height:0;overflow:hidden;mso-hide:all';

async function renderMjml(source: string): Promise<string> {
  // Loaded with the first mail: MJML and juice take some 50 MB, and an api that sends nothing does without.
  const { default: mjml2html } = await import('mjml');
  const { html } = await mjml2html(source, {
    validationLevel: 'skip',
    keepComments: false,
    ignoreIncludes: true,
    fonts: {},
  });
  return html.replace(PREVIEW_STYLE, HIDDEN_STYLE);
}

function compileText(input: ContentInput, maskedHtml: string, mask: MergeTagMask): string {
  const own = mask.restore(withoutTagLines(mask.hide(input.contentText ?? '')), '{');
  if (own.trim() === '') return mask.restore(htmlToPlainText(withShownConditions(maskedHtml)), '{ ');
  const footer = footerText(input.footer, own);
  return footer === '' ? own : `${own.trimEnd()}\n\n--\n${footer}\n`;
}

const CONDITIONAL_LINK = /<a(?=\s[^<>]*\uFDD2\d+\uFDD1href)([^<>]*)>([^]*?)<\/a>/g;
const ATTRIBUTE = /((?:\uFDD2\d+\uFDD1)+)(?:([a-z-]+)="([^"]*)")?/g;

/** Links whose merge tags decide where they lead, as text: `words {% if … %}<one>{% else %}<other>{% endif %}`. */
const withShownConditions = (maskedHtml: string): string =>
  maskedHtml.replaceAll(CONDITIONAL_LINK, (_, attributes: string, words: string) => {
    const addresses = Array.from(
      attributes.matchAll(ATTRIBUTE),
      ([, tags = '', name, url]) => tags + (name === 'href' ? `&lt;${url ?? ''}&gt;` : ''),
    );
    return `${words} ${addresses.join('')}`;
  });

/** What a template is to get: a way to leave, and one to the mail on the web. */
const linksFor = (has: { readonly unsubscribe: boolean; readonly view: boolean }): readonly FooterLink[] => [
  ...(has.unsubscribe ? [] : (['unsubscribe', 'preferences'] as const)),
  ...(has.view ? [] : (['view'] as const)),
];

/** Without merge tags. */
const inert = (text: string): string => text.replaceAll(/\{(?=[{%])/g, '{ ');

/** What the footer adds to an HTML or MJML template. */
function footerHtml(footer: FooterContent, template: string, mask: MergeTagMask): string {
  const lines = [footer.senderName, ...footer.postalAddress.split(/\r?\n/)].filter(
    (line) => line.trim() !== '',
  );
  // Of its own direction: an address in Latin letters stays in order below a text that runs from right to left.
  const sender = `<p dir="auto">${lines.map(escapeHtml).join('<br>')}</p>`;
  const link = (name: FooterLink) =>
    mask.hide(`<a href="{{ links.${name} }}">`) + `${escapeHtml(inert(footer.words[name]))}</a>`;
  const missing = linksFor({ unsubscribe: hasUnsubscribeLink(template), view: hasViewLink(template) });
  const links = `<p lang="${footer.locale}" dir="${footer.direction}">${missing.map(link).join(' &middot; ')}</p>`;
  return [
    ...(showsAddress(template, footer.postalAddress) ? [] : [sender]),
    ...(missing.length === 0 ? [] : [links]),
    privacyHtml(footer, template),
  ].join('');
}

function privacyHtml({ privacy, locale, direction }: FooterContent, template: string): string {
  const { url, words, line, email, contact } = privacy;
  const parts = [
    ...(lacks(template, url, line)
      ? [`<a href="${escapeHtml(inert(url ?? ''))}">${escapeHtml(inert(words))}</a>`]
      : []),
    ...(lacks(template, email, contact) ? [escapeHtml(inert(contact ?? ''))] : []),
  ];
  return parts.length === 0 ? '' : `<p lang="${locale}" dir="${direction}">${parts.join(' &middot; ')}</p>`;
}

/** Whether there is something that a template does not show by itself. */
const lacks = (template: string, shown: string | null, line: string | null): boolean =>
  shown !== null && line !== null && !template.includes(shown) && !template.includes(escapeHtml(shown));

function privacyText({ privacy }: FooterContent, template: string): string[] {
  const { url, line, email, contact } = privacy;
  const lines = [lacks(template, url, line) ? line : null, lacks(template, email, contact) ? contact : null];
  const said = lines.filter((each) => each !== null).map(inert);
  return said.length === 0 ? [] : [said.join('\n')];
}

/** What the footer adds to a text template. */
function footerText(footer: FooterContent, template: string): string {
  const sender = inert(`${footer.senderName}\n${footer.postalAddress}`).trim();
  const link = (name: FooterLink) =>
    inert(footer.words[`${name}Link`]).replace('{url}', () => `{{ links.${name} }}`);
  const missing = linksFor({ unsubscribe: hasUnsubscribeAddress(template), view: hasViewAddress(template) });
  return [
    ...(showsAddressInText(template, footer.postalAddress) ? [] : [sender]),
    ...(missing.length === 0 ? [] : [missing.map(link).join('\n')]),
    ...privacyText(footer, template),
  ].join('\n\n');
}
