import { Injectable } from '@nestjs/common';
import type { Environment, ProjectScope } from '#kernel';
import type { DeliveryKind } from '../../deliveries/delivery.js';
import type { DeliverySource, DeliveryWork, PreparedDelivery } from '../delivery-work.js';
import { MailPreparationService } from '../mails/mail-preparation.service.js';
import { CampaignClosingService } from './campaign-closing.service.js';
import {
  type CampaignUnderWay,
  DeliveryClaimsQuery,
  type MailOwner,
  type SingleKinds,
} from './delivery-claims.query.js';

/** Campaigns that were found to be due are claimed for so long before they are looked up again. */
const LOOK_AGAIN_MS = 1_000;

/** Makes the sources of senders: confirmations, messages, automations and campaigns apart, so that none holds up another. */
@Injectable()
export class DeliverySourcesService {
  constructor(
    private readonly claims: DeliveryClaimsQuery,
    private readonly closing: CampaignClosingService,
    private readonly preparation: MailPreparationService,
  ) {}

  /** The mail of all projects except the streams with relays of their own. */
  of(environment: Environment): DeliverySource[] {
    const owner = { environment, scope: null };
    return [
      this.#singles(owner, ['OPT_IN', 'TEST']),
      this.#singles(owner, ['MESSAGE']),
      this.#singles(owner, ['AUTOMATION']),
      this.#campaigns(owner),
    ];
  }

  /** One project's stream that goes by relays of its own. */
  ofStream(scope: ProjectScope, stream: DeliveryKind): DeliverySource {
    const owner = { environment: scope.environment, scope };
    return stream === 'CAMPAIGN' ? this.#campaigns(owner) : this.#singles(owner, [stream]);
  }

  #campaigns(owner: MailOwner): DeliverySource {
    return new CampaignSource(owner, this.claims, this.closing, this.preparation);
  }

  #singles(owner: MailOwner, kinds: SingleKinds): DeliverySource {
    return {
      claim: async (limit, leaseToken) => {
        const singles = await this.claims.claimSingles(owner, kinds, limit, leaseToken);
        return singles.map((single) => ({ ...single, ambiguousPolicy: 'RESEND', usagePeriod: null }));
      },
      prepare: (works, octetsAtHand) => {
        if (kinds[0] === 'AUTOMATION') return this.preparation.automations(works);
        if (kinds[0] === 'MESSAGE') return this.preparation.messages(works, octetsAtHand);
        return this.preparation.confirmationsAndTests(works);
      },
    };
  }
}

/** The deliveries of an owner's campaigns that are being sent, taking turns between campaigns. */
class CampaignSource implements DeliverySource {
  #turn = 0;
  #due: readonly CampaignUnderWay[] = [];
  #lookAgainAt = 0;

  constructor(
    private readonly owner: MailOwner,
    private readonly claims: DeliveryClaimsQuery,
    private readonly closing: CampaignClosingService,
    private readonly preparation: MailPreparationService,
  ) {}

  async claim(limit: number, leaseToken: string): Promise<DeliveryWork[]> {
    const isFresh = performance.now() < this.#lookAgainAt;
    const known = isFresh ? await this.#claimNext(limit, leaseToken) : [];
    if (known.length > 0) return known;
    await this.#look();
    return this.#claimNext(limit, leaseToken);
  }

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.preparation.campaigns(works);
  }

  /** Finds the campaigns that have something due, and ends those that are over. */
  async #look(): Promise<void> {
    const { due = [], over = [] } = Object.groupBy(
      await this.claims.campaignsUnderWay(this.owner),
      ({ isDue }) => (isDue ? 'due' : 'over'),
    );
    for (const campaign of over) await this.closing.finish(campaign);
    this.#due = due;
    this.#lookAgainAt = performance.now() + LOOK_AGAIN_MS;
  }

  /** Claims from the next campaign in turn that still has something. */
  async #claimNext(limit: number, leaseToken: string): Promise<DeliveryWork[]> {
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
