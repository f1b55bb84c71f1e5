import type { DeliverySource, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { SinglesPreparation } from '../preparation/singles-preparation.service.js';
import type { DeliveryClaimsQuery } from './delivery-claims.query.js';
import type { MailOwner, SingleKinds } from './mail-owner.query.js';

/** An owner's mails that belong to no campaign's sending. */
export class SinglesSource implements DeliverySource {
  constructor(
    private readonly owner: MailOwner,
    private readonly kinds: SingleKinds,
    private readonly claims: DeliveryClaimsQuery,
    private readonly preparation: SinglesPreparation,
  ) {}

  async claim(limit: number, leaseToken: string): Promise<DeliveryWork[]> {
    const singles = await this.claims.claimSingles(this.owner, this.kinds, limit, leaseToken);
    return singles.map((single) => ({ ...single, ambiguousPolicy: 'RESEND', usagePeriod: null }));
  }

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.preparation.prepare(works, this.kinds[0] === 'AUTOMATION' ? 'AUTOMATION' : 'FEW');
  }
}
