import { Inject, Injectable } from '@nestjs/common';
import {
  CustomFieldsQuery,
  type Recipient,
  RecipientsQuery,
  SubscribersQuery,
  templateDefaults,
} from '#audience';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { PreSendRejectedError } from '../../campaigns/campaign.errors.js';
import { CampaignRepository } from '../../campaigns/campaign.repository.js';
import { sampleRecipient } from '../mails/sample-recipient.js';
import { ContentCompileError } from '../../content/document/content-inspection.js';
import { MergeTemplateError } from '../../content/merge/merge-template.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { MailRendering } from '../mails/mail-rendering.service.js';

const SAMPLE_ADDRESS = 'ada@example.com';

export interface CampaignPreview {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

/** Looks up whom a preview is for. */
@Injectable()
export class PreviewRecipients {
  constructor(
    @Inject(SubscribersQuery) private readonly subscribers: SubscribersQuery,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(CustomFieldsQuery) private readonly fields: CustomFieldsQuery,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The subscriber, whether the campaign would reach them or not; `NotFoundError` without such a one. */
  async named(scope: ProjectScope, { campaign }: CampaignMail, address: EmailAddress): Promise<Recipient> {
    const { id } = await this.subscribers.byAddress(scope, address);
    const found = await this.recipients.lookUp(scope, campaign.topicIds, [id], this.clock.now());
    const recipient = found.get(id);
    if (recipient === undefined) throw new NotFoundError();
    // Not the subscriber's own id: who may read campaigns must not get links into somebody's preferences.
    return { ...recipient, subscriberId: newId() };
  }

  /** Somebody who does not exist. */
  async sample(scope: ProjectScope, { topics }: CampaignMail): Promise<Recipient> {
    const defaults = templateDefaults(await this.fields.definitions(scope));
    return sampleRecipient(
      SAMPLE_ADDRESS,
      topics.map(({ name }) => name),
      defaults,
    );
  }
}

/** Shows a campaign's mail without sending it. */
@Injectable()
export class CampaignPreviewService {
  constructor(
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(PreviewRecipients) private readonly recipients: PreviewRecipients,
    @Inject(MailRendering) private readonly rendering: MailRendering,
  ) {}

  /**
   * As the subscriber would get it, or with sample data. Its links lead nowhere. `NotFoundError` without such a
   * campaign or subscriber; `PreSendRejectedError` when a merge tag cannot be filled in.
   */
  async render(
    scope: ProjectScope,
    campaignKey: string,
    address: EmailAddress | null,
  ): Promise<CampaignPreview> {
    const { id } = await this.campaigns.named(scope, campaignKey);
    try {
      const mail = await this.mails.compile(scope, id);
      const recipient =
        address === null
          ? await this.recipients.sample(scope, mail)
          : await this.recipients.named(scope, mail, address);
      const { subject, html, text } = await this.rendering.show(mail, { deliveryId: newId(), recipient });
      return { subject, html, text };
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
