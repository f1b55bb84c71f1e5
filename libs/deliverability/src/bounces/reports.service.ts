import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import { Clock, type DomainEvent } from '#kernel';
import { Database, publish } from '#platform';
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
    await this.database.transaction(scope, ({ db }) => publish(db, scope, UnsubscribeMailed({ deliveryId })));
  }

  /**
   * Keeps the facts of a report and tells of it, both in one transaction. The first bounce and the first complaint of a
   * delivery count: true when this was one, false when there is nothing new.
   */
  async take({ environmentId, deliveryId }: ReturnPathClaims, report: Report): Promise<boolean> {
    if (report.kind === 'nothing') return false;
    const scope = await this.environments.find(environmentId);
    if (scope === null) return false;
    const facts = factsOf(report, deliveryId);
    const event = eventOf(report, deliveryId);
    return this.database.transaction(scope, async ({ db }) => {
      const { numAffectedRows } = await sql`
        insert into deliverability.reports (delivery_id, kind, environment_id, bounce_class, basic_code, enhanced_code,
          excerpt, names_message, reported_at)
        values (${deliveryId}, ${facts.kind}, ${environmentId}, ${facts.bounceClass}, ${facts.basicCode},
          ${facts.enhancedCode}, ${facts.excerpt}, ${facts.namesMessage}, ${this.clock.now()})
        on conflict (delivery_id, kind) do nothing
      `.execute(db);
      if (numAffectedRows !== 1n) return false;
      await publish(db, scope, event);
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
