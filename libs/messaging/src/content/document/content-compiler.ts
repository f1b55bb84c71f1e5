import { escapeHtml } from '#kernel';
import { type ContentBlocks, type ContentDocument, parseContentDocument } from './content-document.js';
import { assertInert } from './inert-elements.js';
import { hasLink, showsAddress } from './content-view.js';
import {
  type FooterLink,
  inert,
  lacks,
  type MailFooter,
  missingLinks,
  withFooterText,
} from './mail-footer.js';
import { htmlToPlainText, plainTextToHtml, withoutTagLines } from './content-text.js';
import { appendSection, authoredMjml, documentMjml, textCss, type Theme, themeOf } from './mjml-document.js';
import { appendToPage, compilePage, outsideOfBody, pageFooter } from './whole-html.js';
import { MergeTagMask } from '../merge/merge-tags.js';
import { type Masking, RemovedContent } from './css-sanitizer.js';
import { ContentCompileError, MergeTemplateError } from '../content.errors.js';
import { customKeysIn } from '../merge/merge-review.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { shownNames } from '../merge/merge-values.js';
import { type LinkTracking, trackHtml } from '../mail/link-tracking.js';

/** Content of a campaign, or of a mail of an automation. */
export interface CampaignContent {
  /** Liquid template. */
  readonly subject: string;
  /** Liquid template of the sender's name in From; blank or not given: the project's. */
  readonly fromName?: string | null;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
  /** BCP 47; none is claimed where it is not given. */
  readonly language?: string;
  /** Its images may be files that go with the mail (`cid:`). */
  readonly showsFiles?: boolean;
}

/** Liquid templates of one mail, ready for `compileMergeTemplate`. */
export interface CompiledContent {
  readonly subject: string;
  /** Blank: the project's name stands in From. */
  readonly fromName: string;
  readonly html: string;
  readonly text: string;
  /** Pieces that no mail can carry, each with its path: `contentJson.blocks[2].html: <script>`. */
  readonly removed: readonly string[];
}

/** The parts of a mail with their merge tags still in them. */
export interface MailSources extends CompiledContent {
  /** Targets of its tracked links; null when opens and clicks are not tracked. */
  readonly targets: readonly string[] | null;
  /** The keys of the custom fields that its merge tags name. */
  readonly customKeys: readonly string[];
  /** The names of the values that its HTML shows. */
  readonly shows: readonly string[];
}

const LONGEST_PART = 2_000_000;

/** Compiles a mail with tracked links. Unbounded, like all here: only in a process of its own. */
export async function compileMail(
  content: CampaignContent,
  footer: MailFooter,
  tracking: LinkTracking | null = null,
): Promise<MailSources> {
  const sources = await compileSources(content, footer);
  const customKeys = customKeysIn({ texts: Object.values(sources), documents: [] });
  const mail = { ...sources, customKeys, targets: null, ...(tracking && trackHtml(sources.html, tracking)) };
  return { ...mail, shows: shownNames(mail.html, compileMergeTemplate(mail.html, 'html')) };
}

/** Reads contentJson and compiles it to HTML and text. @throws as `compileContent` */
export async function compileSources(content: CampaignContent, footer: MailFooter): Promise<CompiledContent> {
  const { contentJson, ...rest } = content;
  const parsed = contentJson === null ? null : parseContentDocument(contentJson, content.showsFiles);
  if (parsed?.errors !== undefined) {
    const [[path, fault] = ['contentJson', 'is not valid']] = Object.entries(parsed.errors);
    throw new ContentCompileError(`${path} ${fault}`);
  }
  const input = { ...rest, document: parsed?.document ?? null, footer };
  const compiled = await compileContent(input).catch((error: unknown) => {
    if (error instanceof MergeTemplateError || error instanceof ContentCompileError) throw error;
    // MJML and juice have no errors of their own for what they cannot read.
    throw new ContentCompileError('its HTML or MJML cannot be read', { cause: error });
  });
  if (Math.max(compiled.html.length, compiled.text.length) > LONGEST_PART)
    throw new ContentCompileError(`it becomes a mail of more than ${LONGEST_PART} characters`);
  return compiled;
}

export interface ContentInput extends Omit<CampaignContent, 'contentJson'> {
  readonly document: ContentDocument | null;
  readonly footer: MailFooter;
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
  const maskedHtml = await compileHtml(input, { mask, removed, showsFiles: input.showsFiles === true });
  // The footer stands in one body, and the text part has no other.
  if (!outsideOfBody(maskedHtml).every((piece) => mask.isWhole(piece)))
    throw new ContentCompileError(
      'a condition or loop stands around <body>, or ends on its other side: let it stand inside of <body>',
    );
  return {
    subject: input.subject,
    fromName: input.fromName ?? '',
    html: mask.restore(maskedHtml, '&#123;'),
    text: compileText(input, maskedHtml, mask),
    removed: removed.list,
  };
}

/** The document to show; a mail with a text part only gets its text as the one block. */
function shownBlocks(
  document: ContentBlocks | null,
  { contentText }: ContentInput,
  mask: MergeTagMask,
): ContentBlocks {
  if (document !== null && document.blocks.length > 0) return document;
  const html = plainTextToHtml(withoutTagLines(mask.hide(contentText ?? '')), mask);
  const blocks: ContentBlocks['blocks'] = html === '' ? [] : [{ type: 'text', html: mask.restoreHtml(html) }];
  return { ...document, blocks };
}

async function compileHtml(input: ContentInput, masking: Masking): Promise<string> {
  const { mask, showsFiles } = masking;
  const { document: given, footer } = input;
  const frame = {
    title: escapeHtml(mask.hide(input.subject)),
    preview: escapeHtml(mask.hide(input.previewText ?? '')),
    language: LANGUAGE.exec(input.language ?? '')?.[0] ?? null,
  };
  const missing = (source: string) => footerHtml(footer, mask.restore(source, '&#123;'), mask);
  if (given !== null && 'html' in given) {
    const page = await compilePage(given.html, frame, masking);
    const added = missing(page);
    const whole =
      added === '' ? page : appendToPage(page, pageFooter(added, themeOf(undefined, footer.color)));
    return asInert(whole, showsFiles);
  }
  if (given !== null && 'mjml' in given) {
    const theme = themeOf(undefined, footer.color);
    const removed = masking.removed.at('mjml');
    const mjml = authoredMjml(given.mjml, { ...frame, theme }, { mask, removed, showsFiles });
    return rendered(mjml, { theme, showsFiles, missing });
  }
  const blocks = shownBlocks(given, input, mask);
  const theme = themeOf(blocks.theme, footer.color);
  return rendered(documentMjml(blocks, { ...frame, theme }, masking), { theme, showsFiles, missing });
}

async function rendered(
  mjml: string,
  {
    theme,
    showsFiles,
    missing,
  }: { readonly theme: Theme; readonly showsFiles: boolean; readonly missing: (source: string) => string },
): Promise<string> {
  const footer = missing(mjml);
  const html = await renderMjml(footer === '' ? mjml : appendSection(mjml, footer));
  const inlined = asInert(await withInlineStyles(html, textCss(theme)), showsFiles);
  return /<pre[\s>]/.test(inlined) ? inlined : inlined.replaceAll(/\n\s*/g, '\n');
}

function asInert(html: string, showsFiles: boolean): string {
  assertInert(html, showsFiles);
  return html;
}

/** HTML with the rules of a style sheet in the `style` attributes of its elements; its own sheets stay as they are. */
export async function withInlineStyles(
  html: string,
  css: string,
  decodeStyleAttributes = false,
): Promise<string> {
  const { default: juice } = await import('juice');
  const kept = { applyStyleTags: false, removeStyleTags: false, insertPreservedExtraCss: false };
  return juice(html, { ...kept, decodeStyleAttributes, extraCss: css });
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
  if (own.trim() === '')
    return mask.restore(
      valuesSetAhead(maskedHtml, mask) + htmlToPlainText(withShownConditions(maskedHtml)),
      '{ ',
    );
  return withFooterText(input.footer, own);
}

const SETS_VALUE = /^\{%-?\s*(?:assign|capture)\b/;

/** The merge tags ahead of the body as text that shows nothing, where they set values for those in it; else nothing. */
function valuesSetAhead(maskedHtml: string, mask: MergeTagMask): string {
  const [ahead = ''] = outsideOfBody(maskedHtml);
  if (!mask.tagsIn(ahead).some((tag) => SETS_VALUE.test(tag))) return '';
  const shown = htmlToPlainText(ahead.replaceAll(/<\/?(?:html|head)\b[^<>]*>/gi, ''));
  return mask.hide('{% capture unshown %}') + shown + mask.hide('{% endcapture %}');
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

/** The footer's addition to an HTML or MJML template. */
function footerHtml(footer: MailFooter, template: string, mask: MergeTagMask): string {
  if (footer.isEmpty === true) return '';
  const lines = [footer.senderName, ...footer.postalAddress.split(/\r?\n/)].filter(
    (line) => line.trim() !== '',
  );
  // Own direction: an address in Latin letters stays in order below a text that runs from right to left.
  const sender = `<p dir="auto">${lines.map(escapeHtml).join('<br>')}</p>`;
  const link = (name: FooterLink) =>
    mask.hide(`<a href="{{ links.${name} }}">`) + `${escapeHtml(inert(footer.words[name]))}</a>`;
  const missing = missingLinks(footer, template, hasLink);
  const links = `<p lang="${footer.locale}" dir="${footer.direction}">${missing.map(link).join(' &middot; ')}</p>`;
  return [
    ...(showsAddress(template, footer.postalAddress) ? [] : [sender]),
    ...(missing.length === 0 ? [] : [links]),
    privacyHtml(footer, template),
  ].join('');
}

function privacyHtml({ privacy, locale, direction }: MailFooter, template: string): string {
  const { url, words, line, email, contact } = privacy;
  const parts = [
    ...(lacks(template, url, line)
      ? [`<a href="${escapeHtml(inert(url ?? ''))}">${escapeHtml(inert(words))}</a>`]
      : []),
    ...(lacks(template, email, contact) ? [escapeHtml(inert(contact ?? ''))] : []),
  ];
  return parts.length === 0 ? '' : `<p lang="${locale}" dir="${direction}">${parts.join(' &middot; ')}</p>`;
}
