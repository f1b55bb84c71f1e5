import { Injectable } from '@nestjs/common';
import { InvalidStateError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';
import { SendingStops } from './sending-stops.service.js';
import type { Campaign } from '../campaign.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignStopper } from './campaign-stopper.service.js';

/** Cancel, pause, resume and archive. The engine asks for a campaign's state whenever it puts a mail on the wire. */
@Injectable()
export class CampaignControlService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly stopper: CampaignStopper,
    private readonly stops: SendingStops,
  ) {}

  /** Ends it for good, or `InvalidStateError`. What is on a wire then is sent, and recorded. */
  cancel(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, (campaign) => this.stopper.cancel(scope, campaign));
  }

  /** Holds it, or `InvalidStateError`. At most what is on a wire still goes out. */
  pause(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, (campaign, now) => campaign.pause(now));
  }

  /** Lets a paused one go on, or `InvalidStateError`: also while the project’s sending is stopped. */
  resume(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, async (campaign, now) => {
      campaign.refuseUnlessAllowed('resume');
      const stopped = await this.stops.reasonOf(scope);
      if (stopped !== null)
        throw new InvalidStateError(`The project’s sending is stopped: ${stopped}`, campaign.status, []);
      campaign.resume(now);
      wakeSenders(this.database);
    });
  }

  /** Puts it away for good, or `InvalidStateError`, or `UnavailableError` while the worker still ends its deliveries. */
  archive(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, (campaign, now) => campaign.archive(now));
  }

  #change(
    scope: ProjectScope,
    campaignKey: string,
    change: (campaign: Campaign, now: Date) => Promise<void> | void,
  ): Promise<Campaign> {
    return this.campaigns.whileLocked(scope, campaignKey, async (campaign, now) => {
      await change(campaign, now);
      return campaign;
    });
  }
}
