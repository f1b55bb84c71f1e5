import type { ContentFacts, ReviewedContent } from '#deliverability';
import { showsAddress } from '../document/content-address.js';
import type { CompiledContent } from '../document/content-compiler.js';
import { ContentCompileError } from '../document/content-compile.errors.js';
import { parseContentDocument } from '../document/content-document.js';
import {
  authoredLinks,
  hasUnsubscribeLink,
  isEmptyContent,
  linkFault,
  linksOf,
} from '../document/content-links.js';
import { contentView, withoutMergeTags } from '../document/content-view.js';
import { reviewMergeTags } from '../merge/merge-review.js';
import { MergeTemplateError } from '../merge/merge-template.js';
import { type CampaignContent, compileSources, type MailFooter } from '../mail/campaign-template.js';
import { notReviewed } from './not-reviewed.js';
import { htmlPartSize, type SampleMail } from './html-part-size.js';
import { type ReadableText, readableText } from './readable-text.js';

/** As much of a bad link as a message shows. */
const SHOWN_URL = 100;

/** What the merge tags of a mail's parts are. */
interface TagReview {
  readonly faults: readonly string[];
  /** Null when a part cannot be read that may say so. */
  readonly personal: boolean | null;
}

/** Reads a campaign's content as the pre-send checks need it. Takes what it takes: in a process of its own only. */
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
    const content = { ...contentFacts(campaign, sources, readable), htmlBytes, hasPostalAddress, personal };
    return { mergeTagFaults, contentFault: null, content };
  } catch (error) {
    if (error instanceof MergeTemplateError)
      return { mergeTagFaults: [error.message], contentFault: null, content: null };
    if (error instanceof ContentCompileError) return notReviewed(error);
    throw error;
  }
}

function contentFacts(
  campaign: CampaignContent,
  { html, text, removed }: CompiledContent,
  readable: ReadableText | null,
): Omit<ContentFacts, 'htmlBytes' | 'hasPostalAddress' | 'personal'> {
  const view = contentView(html);
  const ownText = campaign.contentText ?? '';
  return {
    subject: withoutMergeTags(campaign.subject),
    hasSubject: campaign.subject.trim() !== '',
    previewText: campaign.previewText,
    empty: (campaign.contentJson === null && campaign.contentText === null) || isEmptyContent(html, text),
    hasUnsubscribeLink: hasUnsubscribeLink(html) && (readable === null || readable.showsUnsubscribeLink),
    removed,
    unreadable: readable === null ? null : readable.unreadable,
    linkFaults: linkFaults(campaign.contentJson),
    visibleText: view.text,
    images: view.images,
    ownText: ownText.trim() === '' ? null : ownText,
    urls: linksOf(html),
  };
}

/** Of the links as they were written: sanitising has taken the dangerous ones from the compiled HTML. */
function linkFaults(contentJson: string | null): string[] {
  const { document } = contentJson === null ? {} : parseContentDocument(contentJson);
  return (document === undefined ? [] : authoredLinks(document)).flatMap((url) => {
    const fault = linkFault(url);
    return fault === null ? [] : [`${url.slice(0, SHOWN_URL)} ${fault}`];
  });
}

function reviewTags(
  { subject, fromName, html, text }: CompiledContent,
  customKeys: readonly string[],
): TagReview {
  const faults = new Set<string>();
  let personal = false;
  let unreadable = false;
  for (const [part, source] of Object.entries({ subject, fromName, html, text })) {
    const tags = reviewMergeTags(source, customKeys);
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
