import type { ContentFacts, ReviewedContent } from '#deliverability';
import {
  authoredLinks,
  contentView,
  hasLink,
  isEmptyContent,
  linkFault,
  linksOf,
  showsAddress,
  withoutMergeTags,
} from './content-view.js';
import { contentIdsIn } from './content-ids.js';
import { type CampaignContent, type CompiledContent, compileSources } from './content-compiler.js';
import type { MailFooter } from './mail-footer.js';
import { ContentCompileError, lossesIn, MergeTemplateError } from '../content.errors.js';
import { contentField, type Faults, parseContentDocument } from './content-document.js';
import {
  beginsWithReaderValue,
  EMPTY_REVIEW,
  type KnownInMessage,
  mayBeEmpty,
  type MessageReview,
  messageTagFaults,
  requiredDataIn,
  shownDataIn,
  reviewMergeTags,
  tagFault,
  withLogic,
} from '../merge/merge-review.js';
import { type ReadableText, readableText } from './readable-text.js';
import { compileBody, encodeBody } from '../mail/body-encoding.js';
import { isFileUrl } from '../merge/merge-links.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { type MergeValues, sealedLength, shownNames, shownValues } from '../merge/merge-values.js';
import { type LinkTracking, placeName, trackHtml } from '../mail/link-tracking.js';
import { plainTemplatesOf } from '../mail/mail-renderer.js';

/** Characters of a bad link that a message shows. */
const SHOWN_URL = 100;

/** Reviews a campaign's content for the pre-send checks. Unbounded, like all here: only in a process of its own. */
export async function reviewContent(
  campaign: CampaignContent,
  footer: MailFooter,
  known: { readonly customKeys: readonly string[]; readonly sample: SampleMail },
): Promise<ReviewedContent> {
  try {
    const sources = await compileSources(campaign, footer);
    const { faults: mergeTagFaults, personal } = reviewTags(sources, known.customKeys);
    const htmlBytes = htmlPartSize(sources, known.sample);
    const hasPostalAddress = showsAddress(sources.html, footer.postalAddress);
    const readable = await readableText(sources.html);
    const facts = contentFacts(campaign, sources, readable);
    const emptyLinks = linksWithoutValue(sources.html, facts.urls, known.sample);
    const content = { ...facts, emptyLinks, htmlBytes, hasPostalAddress, personal };
    return { mergeTagFaults, contentFault: null, content };
  } catch (error) {
    if (error instanceof MergeTemplateError)
      return { mergeTagFaults: [error.message], contentFault: null, content: null };
    if (error instanceof ContentCompileError)
      return { mergeTagFaults: [], contentFault: error.message, content: null };
    throw error;
  }
}

function contentFacts(
  campaign: CampaignContent,
  { html, text, removed }: CompiledContent,
  readable: ReadableText | null,
): Omit<ContentFacts, 'emptyLinks' | 'htmlBytes' | 'hasPostalAddress' | 'personal'> {
  const view = contentView(html);
  const ownText = campaign.contentText ?? '';
  return {
    subject: withoutMergeTags(campaign.subject),
    hasSubject: campaign.subject.trim() !== '',
    previewText: campaign.previewText,
    empty: (campaign.contentJson === null && campaign.contentText === null) || isEmptyContent(html, text),
    hasUnsubscribeLink: hasLink(html, 'unsubscribe') && (readable === null || readable.showsLink),
    removed,
    unreadable: readable === null ? null : readable.unreadable,
    linkFaults: linkFaults(campaign.contentJson),
    visibleText: view.text,
    images: view.images,
    ownText: ownText.trim() === '' ? null : ownText,
    urls: linksOf(html),
    goneImages: [],
    subjectMayBeEmpty: mayBeEmpty(campaign.subject),
  };
}

/** Faults of the links as they were written: sanitising has taken the dangerous ones from the compiled HTML. */
function linkFaults(contentJson: string | null): string[] {
  const { document } = contentJson === null ? {} : parseContentDocument(contentJson);
  return (document === undefined ? [] : authoredLinks(document)).flatMap((url) => {
    const fault = linkFault(url);
    return fault === null ? [] : [`${url.slice(0, SHOWN_URL)} ${fault}`];
  });
}

/**
 * The URLs of a template that begin with a value of its reader and lead nowhere for a reader without values: all that begin so
 * where one does and conditions or loops hide which.
 */
function linksWithoutValue(html: string, urls: readonly string[], { values }: SampleMail): string[] {
  const beginning = [...new Set(urls.filter(beginsWithReaderValue))];
  if (beginning.length === 0) return [];
  const subscriber = { ...values.subscriber, first_name: null, last_name: null };
  try {
    const filled = linksOf(
      compileMergeTemplate(html, 'html').render({ ...values, subscriber, tracking: {} }),
    );
    // A value that is no link becomes `#`: see `linkValue`.
    const isEmpty = (url: string | undefined): boolean =>
      url?.startsWith('#') === true && !urls.includes(url);
    if (filled.length === urls.length) return beginning.filter((url) => isEmpty(filled[urls.indexOf(url)]));
    return filled.some(isEmpty) ? beginning : [];
  } catch (error) {
    // Told by the check of merge tags.
    if (error instanceof MergeTemplateError) return [];
    throw error;
  }
}

/** `personal` is null when a part that may be personal cannot be read. */
function reviewTags(
  { subject, fromName, html, text }: CompiledContent,
  customKeys: readonly string[],
): { readonly faults: readonly string[]; readonly personal: boolean | null } {
  const faults = new Set<string>();
  let personal = false;
  let unreadable = false;
  for (const [part, source] of Object.entries({ subject, fromName, html, text })) {
    const tags = reviewMergeTags(source, { customKeys });
    if (tags.unreadable !== null) {
      faults.add(`${part}: ${tags.unreadable}`);
      unreadable = true;
      continue;
    }
    personal ||= tags.variables.some((name) => /^(?:subscriber|custom)\./.test(name));
    for (const name of tags.unknown) faults.add(`{{ ${name} }} is not known`);
    if (tags.trialFault !== null) faults.add(`${part}: ${tags.trialFault}`);
  }
  return { faults: [...faults], personal: unreadable && !personal ? null : personal };
}

/** A mail to a reader who does not exist, its links as long as real ones. */
export interface SampleMail {
  readonly tracking: LinkTracking | null;
  /** Token of its pixel, and of each tracked link. */
  readonly trackingToken: string;
  readonly values: MergeValues;
}

/**
 * Bytes of the HTML part in its transfer encoding, with tracked links and pixel, filled in; of the template itself where it
 * cannot be filled in.
 */
function htmlPartSize(sources: CompiledContent, { tracking, trackingToken, values }: SampleMail): number {
  try {
    const tracked =
      tracking === null ? { html: sources.html, targets: [] } : trackHtml(sources.html, tracking);
    const tokens = ['pixel', ...tracked.targets].map((_, place) => [placeName(place), trackingToken]);
    const plain = plainTemplatesOf({ ...sources, ...tracked });
    const template = plain?.html ?? compileMergeTemplate(tracked.html, 'html');
    const shown = shownValues(shownNames(tracked.html, template), values);
    const view = values.links.view + 'x'.repeat(sealedLength(shown));
    const links = { ...values.links, view };
    const filling = { ...values, links, tracking: Object.fromEntries(tokens) };
    const { content } =
      plain === null ? encodeBody(template.render(filling)) : compileBody(template).build(filling);
    return content.reduce((size, { length }) => size + length, 0);
  } catch (error) {
    if (error instanceof MergeTemplateError) return Buffer.byteLength(sources.html);
    throw error;
  }
}

/** Content of a mail whose body is a document. */
export type DocumentMail = CampaignContent;

export interface MailReview {
  /** Every fault by its path inside of the config. */
  readonly faults: Faults;
  /** Pieces that no mail can carry: see `RemovedContent`. */
  readonly removed: readonly string[];
}

interface Compiled extends CompiledContent {
  readonly isEmpty: boolean;
  /** Field that the HTML is from. */
  readonly field: string;
}

/** Content that was compiled, or the faults for which it cannot be, by the field that they are of. */
export async function compiledOrFaults(
  content: CampaignContent,
  footer: MailFooter,
): Promise<Compiled | { readonly faults: Faults }> {
  const parsed =
    content.contentJson === null ? null : parseContentDocument(content.contentJson, content.showsFiles);
  if (parsed?.errors !== undefined) return { faults: parsed.errors };
  const field = parsed === null ? 'text' : contentField(parsed.document);
  try {
    // A file of the mail is looked for among its attachments.
    const links = (parsed === null ? [] : authoredLinks(parsed.document)).filter((url) => !isFileUrl(url));
    const bad = links.find((url) => linkFault(url) !== null);
    if (bad !== undefined) return { faults: { [field]: `has a link that ${linkFault(bad) ?? ''}` } };
    const compiled = await compileSources(content, footer);
    return { ...compiled, field, isEmpty: isEmptyContent(compiled.html, compiled.text) };
  } catch (error) {
    if (error instanceof MergeTemplateError || error instanceof ContentCompileError)
      return { faults: { [field]: `cannot be made into a mail: ${error.message}` } };
    throw error;
  }
}

/** Reviews a mail of an automation when it is saved. */
export async function reviewMail(
  mail: DocumentMail,
  footer: MailFooter,
  customKeys: readonly string[],
): Promise<MailReview> {
  const inParts = partFaults(mail, customKeys);
  const compiled = await compiledOrFaults(soundParts(mail, inParts), footer);
  if ('faults' in compiled) return { faults: { ...inParts, ...compiled.faults }, removed: [] };
  const { field, html, removed, isEmpty } = compiled;
  if (!('contentText' in inParts) && isEmpty) return { faults: { ...inParts, [field]: 'is empty' }, removed };
  const inDocument = {
    ...sightFaults(field, await readableText(html)),
    ...tagFaults(field, html, customKeys),
  };
  return { faults: { ...inParts, ...inDocument }, removed };
}

/** Reviews the content of a message to one person before it is accepted. */
export async function reviewMessage(
  content: CampaignContent,
  footer: MailFooter,
  known: KnownInMessage,
): Promise<MessageReview> {
  const refused = (faults: Faults): MessageReview => ({ ...EMPTY_REVIEW, faults });
  const inParts = messageTagFaults({ subject: content.subject, text: content.contentText ?? '' }, known);
  const hasSoundText = !('text' in inParts);
  const sound = {
    ...content,
    subject: 'subject' in inParts ? '' : content.subject,
    contentText: hasSoundText ? content.contentText : null,
  };
  const compiled = await compiledOrFaults(sound, footer);
  if ('faults' in compiled) return refused({ ...inParts, ...compiled.faults });
  const { field, subject, html, text, removed, isEmpty } = compiled;
  if (isEmpty) return refused(hasSoundText ? { ...inParts, [field]: 'is empty' } : inParts);
  // Nobody would read of it later, as they do in the findings of a campaign.
  const losses = lossesIn(removed);
  if (losses !== null) return refused({ ...inParts, [field]: losses });
  const faults = {
    ...inParts,
    ...(known.hasTopic && leavingFault(field, await readableText(html))),
    ...messageTagFaults({ [field]: html }, known),
  };
  return {
    field,
    faults,
    requiredData: requiredDataIn([subject, html, text]),
    shownData: shownDataIn([subject, html, text]),
    contentIds: contentIdsIn(html),
    logic:
      Object.keys(faults).length > 0
        ? null
        : withLogic({ subject, html: content.contentJson === null ? '' : html, text }),
  };
}

/** Faults of the colours and style sheets of the HTML. */
function sightFaults(field: string, readable: ReadableText | null): Faults {
  const [words] = readable?.unreadable ?? [];
  if (words !== undefined) return { [field]: `has text that nobody can read on what is behind it: ${words}` };
  return leavingFault(field, readable);
}

const leavingFault = (field: string, readable: ReadableText | null): Faults =>
  readable?.showsLink === false ? { [field]: 'has no unsubscribe link that a reader can see' } : {};

/** Faults of the merge tags beside the document. */
function partFaults(mail: DocumentMail, customKeys: readonly string[]): Faults {
  const parts = ['subject', 'fromName', 'previewText', 'contentText'] as const;
  return Object.fromEntries(
    parts.flatMap((part) => Object.entries(tagFaults(part, mail[part] ?? '', customKeys))),
  );
}

/** The HTML shows subject and preview too: a fault of theirs is reported for them alone. */
function soundParts(mail: DocumentMail, inParts: Faults): DocumentMail {
  return {
    ...mail,
    subject: 'subject' in inParts ? '' : mail.subject,
    previewText: 'previewText' in inParts ? null : mail.previewText,
    contentText: 'contentText' in inParts ? null : mail.contentText,
  };
}

function tagFaults(part: string, source: string, customKeys: readonly string[]): Faults {
  const fault = tagFault(source, { customKeys, hasEvent: true });
  return fault === null ? {} : { [part]: fault };
}
