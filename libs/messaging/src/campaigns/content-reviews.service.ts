import { Inject, Injectable } from '@nestjs/common';
import { CustomFieldsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { ContentProcesses, footerOf } from '../content-processes/content-processes.service.js';
import { ContentTooComplexError } from '../content-processes/task-fault.js';
import type { CampaignContent, MailFooter } from './campaign-template.js';
import { notReviewed, type ReviewedContent } from './content-review.js';

/** Has a campaign's content looked at, as the pre-send checks need it. */
@Injectable()
export class ContentReviews {
  constructor(
    @Inject(CustomFieldsQuery) private readonly customFields: CustomFieldsQuery,
    @Inject(ContentProcesses) private readonly processes: ContentProcesses,
  ) {}

  /** The same content is looked at once: who holds a lock asks for it before. */
  async review(
    scope: ProjectScope,
    { subject, previewText, contentJson, contentText }: CampaignContent,
    footer: MailFooter,
  ): Promise<ReviewedContent> {
    const customKeys = (await this.customFields.definitions(scope)).map(({ key }) => key);
    const content = { subject, previewText, contentJson, contentText };
    try {
      return await this.processes.review(scope, { content, footer: footerOf(footer), customKeys });
    } catch (error) {
      if (error instanceof ContentTooComplexError) return notReviewed(error);
      throw error;
    }
  }
}
