import type { ContentDocument } from './content-document.js';
import { assertInert } from './content-inspection.js';
import { hasUnsubscribeAddress, hasUnsubscribeLink } from './content-links.js';
import { htmlToPlainText, plainTextToHtml } from './content-text.js';
import { textCss, themeOf } from './content-theme.js';
import { escapeHtml } from './html-escape.js';
import { MergeTagMask } from './merge-tags.js';
import { appendSection, documentMjml } from './mjml-document.js';

/** Who sends, as the footer shows it. */
export interface FooterContent {
  readonly senderName: string;
  readonly postalAddress: string;
}

export interface ContentInput {
  /** Liquid template. */
  readonly subject: string;
  readonly previewText: string | null;
  readonly document: ContentDocument | null;
  readonly contentText: string | null;
  readonly footer: FooterContent;
  /** BCP 47 tag of the content's language; `en` when it is not given. */
  readonly language?: string;
}

/** Liquid templates of one mail, ready for `compileMergeTemplate`. */
export interface CompiledContent {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

/**
 * Compiles content to the templates of its parts: blocks → MJML → HTML with inlined styles, and plain text.
 * Reads no file and fetches nothing. A footer with the postal address, an unsubscribe and a preferences link is
 * added to each part that has no unsubscribe link of its own.
 * @throws {MergeTemplateError} when a merge tag is not closed
 * @throws {ContentCompileError} when MJML cannot be compiled or yields anything that is not inert
 */
export async function compileContent(input: ContentInput): Promise<CompiledContent> {
  const mask = new MergeTagMask();
  const maskedHtml = await compileHtml(input, mask);
  return {
    subject: input.subject,
    html: mask.restore(maskedHtml, '&#123;'),
    text: compileText(input, maskedHtml, mask),
  };
}

/** The document to show; a mail with a text part only gets its text as the one block. */
function shownDocument({ document, contentText }: ContentInput, mask: MergeTagMask): ContentDocument {
  if (document !== null && document.blocks.length > 0) return document;
  const html = plainTextToHtml(mask.hide(contentText ?? ''), mask);
  const blocks: ContentDocument['blocks'] =
    html === '' ? [] : [{ type: 'text', html: mask.restore(html, '&#123;') }];
  return { ...document, blocks };
}

async function compileHtml(input: ContentInput, mask: MergeTagMask): Promise<string> {
  const document = shownDocument(input, mask);
  const theme = themeOf(document.theme);
  const frame = {
    title: escapeHtml(mask.hide(input.subject)),
    preview: escapeHtml(mask.hide(input.previewText ?? '')),
    language: /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/.test(input.language ?? '')
      ? (input.language ?? 'en')
      : 'en',
    theme,
  };
  const mjml = documentMjml(document, frame, mask);
  const complete = hasUnsubscribeLink(mask.restore(mjml, '&#123;'))
    ? mjml
    : appendSection(mjml, footerHtml(input.footer, mask));
  const html = await renderMjml(complete);
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

async function renderMjml(source: string): Promise<string> {
  // Loaded with the first mail: MJML and juice take some 50 MB, and an api that sends nothing does without.
  const { default: mjml2html } = await import('mjml');
  const { html } = await mjml2html(source, {
    validationLevel: 'skip',
    keepComments: false,
    ignoreIncludes: true,
    fonts: {},
  });
  return html;
}

function compileText(input: ContentInput, maskedHtml: string, mask: MergeTagMask): string {
  const own = input.contentText ?? '';
  if (own.trim() === '') return mask.restore(htmlToPlainText(maskedHtml), '{ ');
  return hasUnsubscribeAddress(own) ? own : `${own.trimEnd()}\n\n--\n${footerText(input.footer)}`;
}

function footerHtml(footer: FooterContent, mask: MergeTagMask): string {
  const lines = [footer.senderName, ...footer.postalAddress.split(/\r?\n/)].filter(
    (line) => line.trim() !== '',
  );
  const unsubscribe = mask.hide('<a href="{{ links.unsubscribe }}">Unsubscribe</a>');
  const preferences = mask.hide('<a href="{{ links.preferences }}">Preferences</a>');
  return `<p>${lines.map(escapeHtml).join('<br>')}</p><p>${unsubscribe} &middot; ${preferences}</p>`;
}

function footerText(footer: FooterContent): string {
  const sender = `${footer.senderName}\n${footer.postalAddress}`.replaceAll(/\{(?=[{%])/g, '{ ').trim();
  return `${sender}\n\nUnsubscribe: {{ links.unsubscribe }}\nPreferences: {{ links.preferences }}\n`;
}
