import type { Environment } from '#kernel';
import type { CampaignFinishQuery } from './campaign-finish.query.js';
import type { CampaignPreparation } from './campaign-preparation.js';
import type { DeliveryClaimsQuery } from './delivery-claims.query.js';
import type { DeliverySource, DeliveryWork, PreparedDelivery } from './delivery-source.js';
import type { Lease } from './lease.js';

/** The deliveries of campaigns that are being sent in one kind of environment, taking turns between campaigns. */
export class CampaignSource implements DeliverySource {
  #turn = 0;

  constructor(
    private readonly environment: Environment,
    private readonly claims: DeliveryClaimsQuery,
    private readonly finish: CampaignFinishQuery,
    private readonly preparation: CampaignPreparation,
  ) {}

  async claim(limit: number, lease: Lease, now: Date): Promise<DeliveryWork[]> {
    const campaigns = await this.claims.campaignsUnderWay(this.environment);
    this.#turn += 1;
    for (let tried = 0; tried < campaigns.length; tried += 1) {
      const campaign = campaigns[(this.#turn + tried) % campaigns.length];
      if (campaign === undefined) break;
      const deliveries = await this.claims.claimCampaign(campaign, limit, lease, now);
      if (deliveries.length > 0) {
        const { scope, ambiguousPolicy, usagePeriod } = campaign;
        return deliveries.map((delivery) => ({ scope, delivery, ambiguousPolicy, usagePeriod }));
      }
      await this.finish.finish(campaign);
    }
    return [];
  }

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.preparation.prepare(works);
  }
}
