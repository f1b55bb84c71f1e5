import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type EmailAddress, newId, type ProjectScope } from '#kernel';
import { PreSendRejectedError } from '../../campaigns/campaign.errors.js';
import { CampaignRepository } from '../../campaigns/campaign.repository.js';
import { ContentCompileError, MergeTemplateError } from '../../content/content.errors.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { type MailParts, MailRendering } from '../mails/mail-rendering.service.js';
import { MailReaders } from './mail-readers.service.js';

/** For whom a campaign's mail is shown. */
export interface PreviewReader {
  /** Of a subscriber; null: somebody who does not exist. */
  readonly address: EmailAddress | null;
  /** Null: the subscriber's own. */
  readonly locale: string | null;
}

/** Shows a campaign's mail without sending it. */
@Injectable()
export class CampaignPreviewService {
  constructor(
    private readonly campaigns: CampaignRepository,
    private readonly mails: CampaignMailsService,
    private readonly readers: MailReaders,
    private readonly rendering: MailRendering,
    private readonly clock: Clock,
  ) {}

  /**
   * As the subscriber would get it, or with sample data. Its links lead nowhere. `NotFoundError` without such a
   * campaign or subscriber; `PreSendRejectedError` when a merge tag cannot be filled in.
   */
  async render(
    scope: ProjectScope,
    campaignKey: string,
    { address, locale }: PreviewReader,
  ): Promise<MailParts> {
    const { id } = await this.campaigns.named(scope, campaignKey);
    try {
      const own = await this.mails.compile(scope, id, locale);
      const recipient = await this.readers.of(own, address);
      const mail = locale === null ? await this.mails.compile(scope, id, recipient.locale) : own;
      const shown = { deliveryId: newId(), recipient, locale: locale ?? recipient.locale };
      return await this.rendering.show(mail, { ...shown, date: this.clock.now() });
    } catch (error) {
      if (error instanceof MergeTemplateError) throw asRejection(error);
      if (error instanceof ContentCompileError)
        throw new DomainValidationError({ contentJson: `cannot be made into a mail: ${error.message}` });
      throw error;
    }
  }
}

function asRejection({ message }: MergeTemplateError): PreSendRejectedError {
  return new PreSendRejectedError([{ code: 'merge-tags', severity: 'CRITICAL', result: 'FAIL', message }]);
}
