import type { Environment } from '#kernel';
import type { DeliverySource, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { SinglesKind, SinglesPreparation } from '../preparation/singles-preparation.service.js';
import type { DeliveryClaimsQuery } from './delivery-claims.query.js';

/** Mails that belong to no campaign's sending, of all projects, in one kind of environment. */
export class SinglesSource implements DeliverySource {
  constructor(
    private readonly environment: Environment,
    private readonly which: SinglesKind,
    private readonly claims: DeliveryClaimsQuery,
    private readonly preparation: SinglesPreparation,
  ) {}

  async claim(limit: number, leaseToken: string): Promise<DeliveryWork[]> {
    const singles = await this.claims.claimSingles(this.environment, this.which, limit, leaseToken);
    return singles.map((single) => ({ ...single, ambiguousPolicy: 'RESEND', usagePeriod: null }));
  }

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.preparation.prepare(works, this.which);
  }
}
