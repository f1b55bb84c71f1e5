import { Inject, Injectable } from '@nestjs/common';
import type { Project } from '#access';
import { CustomFieldsQuery, templateDefaults } from '#audience';
import type { CampaignFacts, ContentFacts } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { showsAddress } from '../content/content-address.js';
import type { CompiledContent } from '../content/content-compiler.js';
import { ContentCompileError } from '../content/content-inspection.js';
import { parseContentDocument } from '../content/content-document.js';
import {
  authoredLinks,
  hasUnsubscribeLink,
  isEmptyContent,
  linkFault,
  linksOf,
} from '../content/content-links.js';
import { contentView, withoutMergeTags } from '../content/content-view.js';
import { reviewMergeTags } from '../content/merge-review.js';
import { MergeTemplateError } from '../content/merge-template.js';
import { projectValues } from '../content/merge-values.js';
import type { Campaign } from './campaign.js';
import { type CampaignContent, compileSources } from './campaign-template.js';
import { HtmlPartSize } from './html-part-size.service.js';

/** As much of a bad link as a message shows. */
const SHOWN_URL = 100;

type ReviewedContent = Pick<CampaignFacts, 'mergeTagFaults' | 'contentFault' | 'content'>;

/** What the merge tags of a mail's parts are. */
interface TagReview {
  readonly faults: readonly string[];
  /** Null when a part cannot be read that may say so. */
  readonly personal: boolean | null;
}

/** Reads a campaign's content as the pre-send checks need it. */
@Injectable()
export class ContentReview {
  constructor(
    @Inject(CustomFieldsQuery) private readonly customFields: CustomFieldsQuery,
    @Inject(HtmlPartSize) private readonly size: HtmlPartSize,
  ) {}

  async review(scope: ProjectScope, campaign: Campaign, project: Project): Promise<ReviewedContent> {
    const definitions = await this.customFields.definitions(scope);
    try {
      const sources = await compileSources(campaign, project);
      const customKeys = definitions.map(({ key }) => key);
      const { faults: mergeTagFaults, personal } = reviewTags(sources, customKeys);
      const htmlBytes = this.size.of(scope, sources.html, {
        campaign: { name: campaign.name, key: campaign.campaignKey },
        project: projectValues(project),
        custom: templateDefaults(definitions),
      });
      const hasPostalAddress = showsAddress(sources.html, project.postalAddress);
      const content = { ...contentFacts(campaign, sources), htmlBytes, hasPostalAddress, personal };
      return { mergeTagFaults, contentFault: null, content };
    } catch (error) {
      if (error instanceof MergeTemplateError)
        return { mergeTagFaults: [error.message], contentFault: null, content: null };
      if (error instanceof ContentCompileError)
        return { mergeTagFaults: [], contentFault: error.message, content: null };
      throw error;
    }
  }
}

function contentFacts(
  campaign: CampaignContent,
  { html, text }: CompiledContent,
): Omit<ContentFacts, 'htmlBytes' | 'hasPostalAddress' | 'personal'> {
  const view = contentView(html);
  const ownText = campaign.contentText ?? '';
  return {
    subject: withoutMergeTags(campaign.subject),
    previewText: campaign.previewText,
    empty: (campaign.contentJson === null && campaign.contentText === null) || isEmptyContent(html, text),
    hasUnsubscribeLink: hasUnsubscribeLink(html),
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

function reviewTags({ subject, html, text }: CompiledContent, customKeys: readonly string[]): TagReview {
  const faults = new Set<string>();
  let personal = false;
  let unreadable = false;
  for (const [part, source] of Object.entries({ subject, html, text })) {
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
