import { Inject, Injectable } from '@nestjs/common';
import { Clock, InvalidStateError, type ProjectScope } from '#kernel';
import { Database, type Transaction } from '#platform';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';
import { SendingStops } from './sending-stops.service.js';
import type { Campaign } from '../campaign.js';
import { CampaignRepository } from '../campaign.repository.js';
import { CampaignStopper } from './campaign-stopper.service.js';

/** Cancel, pause and resume. The engine asks for a campaign's state whenever it puts a mail on the wire. */
@Injectable()
export class CampaignControlService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignStopper) private readonly stopper: CampaignStopper,
    @Inject(SendingStops) private readonly stops: SendingStops,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Ends it for good, or `InvalidStateError`. What is on a wire then is sent, and recorded. */
  cancel(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, async (tx, campaign, now) => {
      const unbound = campaign.cancel(now);
      await this.stopper.stop(scope, tx, campaign, unbound);
    });
  }

  /** Holds it, or `InvalidStateError`. At most what is on a wire still goes out. */
  pause(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, (_, campaign, now) => campaign.pause(now));
  }

  /** Lets a paused one go on, or `InvalidStateError`: also while the project’s sending is stopped. */
  resume(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, async (_, campaign, now) => {
      campaign.refuseUnlessAllowed('resume');
      const stopped = await this.stops.reasonOf(scope);
      if (stopped !== null)
        throw new InvalidStateError(`The project’s sending is stopped: ${stopped}`, campaign.status, []);
      campaign.resume(now);
      await wakeSenders(this.database);
    });
  }

  #change(
    scope: ProjectScope,
    campaignKey: string,
    change: (tx: Transaction, campaign: Campaign, now: Date) => Promise<void> | void,
  ): Promise<Campaign> {
    return this.database.transaction(scope, async (tx) => {
      const campaign = await this.campaigns.lock(scope, tx, campaignKey);
      await change(tx, campaign, this.clock.now());
      return campaign;
    });
  }
}
