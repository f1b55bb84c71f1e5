import { Inject, Injectable } from '@nestjs/common';
import { CampaignFailureService } from '../../campaigns/lifecycle/campaign-failure.service.js';
import type { CampaignMail } from './campaign-mail.js';
import type { MailDeparture } from './sending-policy.js';
import { MailDepartures } from './sending-policies.service.js';

/** Tells how a campaign's mails may leave, and ends the campaign when they cannot be signed. */
@Injectable()
export class CampaignDepartures {
  constructor(
    @Inject(MailDepartures) private readonly departures: MailDepartures,
    @Inject(CampaignFailureService) private readonly failure: CampaignFailureService,
  ) {}

  async of({ scope, campaign, sender }: CampaignMail): Promise<MailDeparture> {
    const departure = await this.departures.of(scope, sender.domain);
    // Each of its mails would fail the same way.
    if (departure.kind === 'broken') await this.failure.fail(scope, campaign.id, departure.fault);
    return departure;
  }
}
