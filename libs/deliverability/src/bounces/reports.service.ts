import { Inject, Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import { Clock, type DomainEvent } from '#kernel';
import { Database, publish } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import { BounceReported, ComplaintReported, UnsubscribeMailed } from './report.events.js';
import { factsOf } from './report-facts.js';
import { showsDistrust } from './slow-down.js';
import type { Report } from './report.js';
import type { ReturnPathClaims } from './return-path.js';

/** Takes down what came back, for a delivery whose return path has been checked. */
@Injectable()
export class ReportsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Tells that a mail's reader wants no more of the kind. */
  async unsubscribe({ environmentId, deliveryId }: ReturnPathClaims): Promise<void> {
    const scope = await this.environments.find(environmentId);
    if (scope === null) return;
    await this.database.transaction(scope, () =>
      publish(this.database, scope, UnsubscribeMailed({ deliveryId })),
    );
  }

  /**
   * Keeps the facts of a report and tells of it, both in one transaction. The first bounce and the first complaint of a
   * delivery count: true when this was one, false when there is nothing new.
   */
  async take({ environmentId, deliveryId }: ReturnPathClaims, report: Report): Promise<boolean> {
    if (report.kind === 'nothing') return false;
    const scope = await this.environments.find(environmentId);
    if (scope === null) return false;
    return this.database.transaction(scope, async () => {
      const { numInsertedOrUpdatedRows } = await this.database
        .tables<DeliverabilityTables>()
        .insertInto('deliverability.reports')
        .values({ ...factsOf(report, deliveryId), deliveryId, environmentId, reportedAt: this.clock.now() })
        .onConflict((conflict) => conflict.columns(['deliveryId', 'kind']).doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows !== 1n) return false;
      await publish(this.database, scope, eventOf(report, deliveryId));
      return true;
    });
  }
}

function eventOf(report: Exclude<Report, { kind: 'nothing' }>, deliveryId: string): DomainEvent {
  if (report.kind === 'complaint') return ComplaintReported({ deliveryId });
  const bounce = { deliveryId, bounceClass: report.class };
  return BounceReported(
    showsDistrust(report.class, report.refusal) ? { ...bounce, isDistrust: true } : bounce,
  );
}
