import type { Environment } from '#kernel';
import type { DeliveryClaimsQuery } from './delivery-claims.query.js';
import type { DeliverySource, DeliveryWork, PreparedDelivery } from './delivery-source.js';
import type { Lease } from './lease.js';
import type { OptInPreparation } from './opt-in-preparation.js';

/** Confirmation mails of all projects, in one kind of environment. */
export class OptInSource implements DeliverySource {
  constructor(
    private readonly environment: Environment,
    private readonly claims: DeliveryClaimsQuery,
    private readonly preparation: OptInPreparation,
  ) {}

  async claim(limit: number, lease: Lease, now: Date): Promise<DeliveryWork[]> {
    const singles = await this.claims.claimSingles(this.environment, limit, lease, now);
    return singles.map((single) => ({ ...single, ambiguousPolicy: 'RESEND', usagePeriod: null }));
  }

  prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.preparation.prepare(works);
  }
}
