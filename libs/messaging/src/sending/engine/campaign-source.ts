import type { CampaignClosingService } from './campaign-closing.service.js';
import type { CampaignPreparation } from '../preparation/campaign-preparation.service.js';
import type { CampaignUnderWay, DeliveryClaimsQuery } from './delivery-claims.query.js';
import type { MailOwner } from './mail-owner.query.js';
import type { DeliverySource, DeliveryWork, PreparedDelivery } from '../delivery-source.js';

/** What is found to be due is claimed for so long before it is asked again what is. */
const LOOK_AGAIN_MS = 1_000;

/** The deliveries of an owner's campaigns that are being sent, taking turns between campaigns. */
export class CampaignSource implements DeliverySource {
  #turn = 0;
  #due: readonly CampaignUnderWay[] = [];
  #lookAgainAt = 0;

  constructor(
    private readonly owner: MailOwner,
    private readonly claims: DeliveryClaimsQuery,
    private readonly finish: CampaignClosingService,
    private readonly preparation: CampaignPreparation,
  ) {}

  async claim(limit: number, leaseToken: string): Promise<DeliveryWork[]> {
    const isFresh = performance.now() < this.#lookAgainAt;
    const known = isFresh ? await this.#claimOne(limit, leaseToken) : [];
    if (known.length > 0) return known;
    await this.#look();
    return this.#claimOne(limit, leaseToken);
  }

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.preparation.prepare(works);
  }

  /** Asks which campaigns have something due, and ends those that are over. */
  async #look(): Promise<void> {
    const { due = [], over = [] } = Object.groupBy(
      await this.claims.campaignsUnderWay(this.owner),
      ({ isDue }) => (isDue ? 'due' : 'over'),
    );
    for (const campaign of over) await this.finish.finish(campaign);
    this.#due = due;
    this.#lookAgainAt = performance.now() + LOOK_AGAIN_MS;
  }

  /** Of the next campaign in turn that still has something. */
  async #claimOne(limit: number, leaseToken: string): Promise<DeliveryWork[]> {
    this.#turn += 1;
    while (this.#due.length > 0) {
      const campaign = this.#due[this.#turn % this.#due.length];
      if (campaign === undefined) break;
      const deliveries = await this.claims.claimCampaign(campaign, limit, leaseToken);
      if (deliveries.length > 0) {
        const { scope, ambiguousPolicy, usagePeriod } = campaign;
        return deliveries.map((delivery) => ({ scope, delivery, ambiguousPolicy, usagePeriod }));
      }
      this.#due = this.#due.filter((other) => other !== campaign);
    }
    return [];
  }
}
