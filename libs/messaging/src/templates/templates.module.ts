import { Module } from '@nestjs/common';
import { AudienceModule } from '#audience';
import { ContentModule } from '../content/content.module.js';
import { TemplateContentsQuery } from './template-contents.query.js';
import { TemplateReviewsService } from './template-reviews.service.js';
import { TemplateUsageQuery } from './template-usage.query.js';
import { TemplateRepository } from './template.repository.js';
import { TemplatesService } from './templates.service.js';

const SERVICES = [
  TemplateContentsQuery,
  TemplateRepository,
  TemplateReviewsService,
  TemplateUsageQuery,
  TemplatesService,
];

/** Content by name: drafts, versions, and what mails are made of. */
@Module({ imports: [AudienceModule, ContentModule], providers: SERVICES, exports: SERVICES })
export class TemplatesModule {}
