import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { type CampaignMail, composeCampaignMail, type MailOfRecipient } from './campaign-mail.js';
import { CampaignMailsService } from './campaign-mails.service.js';
import type { OutgoingMail } from './delivery.js';
import { MailLinkMaker } from './mail-links.js';

/** Makes the mails of campaigns, one for each recipient. */
@Injectable()
export class CampaignComposer {
  constructor(
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(MailLinkMaker) private readonly links: MailLinkMaker,
  ) {}

  /** See `CampaignMailsService`. */
  ofQueued(scope: ProjectScope, campaignId: string, version: string): Promise<CampaignMail> {
    return this.mails.ofQueued(scope, campaignId, version);
  }

  /** The campaign as it stands, without tracking. */
  asItStands(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    return this.mails.compile(scope, campaignId);
  }

  compose(mail: CampaignMail, one: MailOfRecipient): OutgoingMail {
    return composeCampaignMail(mail, one, this.links);
  }
}
