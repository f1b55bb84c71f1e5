import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import type { CampaignMail, MailOfRecipient } from './campaign-mail.js';
import { CampaignMailsService } from './campaign-mails.service.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import { type Ahead, MailRendering } from './mail-rendering.service.js';

/** Makes the mails of campaigns, one for each recipient. */
@Injectable()
export class CampaignComposer {
  constructor(
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(MailRendering) private readonly rendering: MailRendering,
  ) {}

  /** See `CampaignMailsService`. */
  ofQueued(scope: ProjectScope, campaignId: string, version: string): Promise<CampaignMail> {
    return this.mails.ofQueued(scope, campaignId, version);
  }

  /** The campaign as it stands, without tracking. */
  asItStands(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    return this.mails.compile(scope, campaignId);
  }

  /** One mail. */
  compose(mail: CampaignMail, one: MailOfRecipient): Promise<OutgoingMail> {
    return this.rendering.compose(mail, one);
  }

  /** Mails of a batch. */
  ahead(
    mail: CampaignMail,
    all: readonly Pick<MailOfRecipient, 'deliveryId' | 'recipient'>[],
  ): Promise<Ahead> {
    return this.rendering.ahead(mail, all);
  }
}
