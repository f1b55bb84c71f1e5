import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { before, Database, named, Periodic, removeOldRows } from '#platform';
import { DISTRUST_REPORTS, SLOW_DOWN_MS } from '../bounces/retry-schedule.js';
import type { DeliverabilityTables } from '../deliverability.schema.js';
import type { DestinationLimit } from './destination.js';

/** Mails of a batch for a destination. */
interface BudgetRequest {
  readonly destination: string;
  readonly wanted: number;
  readonly limit: DestinationLimit;
  /** Part of the burst reserved for others. */
  readonly kept: number;
}

/** Share of them that a destination takes now. */
export interface BudgetGrant {
  readonly destination: string;
  readonly granted: number;
  /** Times to ask again, one for each of the others. */
  readonly places: readonly Date[];
  /** Null where it is not slowed down. */
  readonly slowUntil: Date | null;
}

/** Channel on which workers hear that a destination was slowed down. */
export const SLOW_DOWNS_CHANNEL = 'mailwright_slow_downs';

/** An hour without a mail fills every budget. */
const KEPT_MS = 60 * 60_000;

/** The budgets of destinations that all workers share: SQL functions count them, since a project's rows show none. */
@Injectable()
export class DestinationBudgetRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Takes the mails of a batch that may go now, in one statement. A destination without a limit gets no grant: all of its
   * mails may go. Mails of one `line` that must wait do so one after the other.
   */
  take(
    scope: ProjectScope,
    line: string,
    requests: readonly BudgetRequest[],
    now: Date,
  ): Promise<BudgetGrant[]> {
    const asked = requests.map(({ destination, wanted, limit, kept }) => ({
      destination,
      wanted,
      kept,
      rate: limit.mailsPerSecond,
      burst: limit.burst,
    }));
    return this.database.statement(
      scope,
      sql<BudgetGrant>`${named('take_budgets')}
        select destination, granted, places, slow_until
        from deliverability.take_budgets(${line}::text, ${JSON.stringify(asked)}::jsonb, ${now}::timestamptz)
      `,
      { flushed: false },
    );
  }

  /** Destinations that are slowed down now. */
  slowed(now: Date): Promise<readonly { readonly destination: string; readonly until: Date }[]> {
    return this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.slowed_destinations')
        .select(['destination', 'slowUntil as until'])
        .where('slowUntil', '>', now)
        .execute(),
    );
  }

  /** Answers `slowed` for a project. */
  slowedFor(scope: ProjectScope, now: Date): Promise<ReadonlyMap<string, Date>> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ destination: string; until: Date }>`
        select destination, slow_until as until from deliverability.slowed_now(${now}::timestamptz)
      `.execute(this.database.tables());
      return new Map(rows.map(({ destination, until }) => [destination, until]));
    });
  }

  /**
   * Records a report that a delivery's destination does not trust us, as part of the open transaction. Enough of them slow
   * the destination down; true if it was not slow before.
   */
  reportDistrust(scope: ProjectScope, deliveryId: string, destination: string, now: Date): Promise<boolean> {
    const { enough, withinMs } = DISTRUST_REPORTS;
    const since = new Date(now.getTime() - withinMs);
    const until = new Date(now.getTime() + SLOW_DOWN_MS);
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ readonly begun: boolean }>`
        select deliverability.report_distrust(${deliveryId}::uuid, ${destination}::text, ${now}::timestamptz,
          ${since}::timestamptz, ${enough}::int, ${until}::timestamptz) as begun
      `.execute(this.database.tables());
      return this.#notify(destination, until, rows[0]);
    });
  }

  /** Slows a destination down and notifies every worker; true if it was not slow before. */
  async slowDown(scope: ProjectScope, destination: string, now: Date, until: Date): Promise<boolean> {
    const [row] = await this.database.statement(
      scope,
      sql<{ readonly begun: boolean }>`${named('slow_destination')}
        select deliverability.slow_destination(${destination}::text, ${now}::timestamptz, ${until}::timestamptz) as begun
      `,
    );
    return this.#notify(destination, until, row);
  }

  /** Removes rows that limit nobody any more. */
  @Periodic('remove-old-throttling', { everyMs: 60 * 60_000 })
  removeOld(): Promise<void> {
    const oldest = before(this.clock.now(), KEPT_MS);
    const isOfInstallation = true;
    return removeOldRows(
      this.database,
      { table: 'deliverability.slowed_destinations', where: sql`slow_until < ${oldest}`, isOfInstallation },
      { table: 'deliverability.distrust_reports', where: sql`reported_at < ${oldest}`, isOfInstallation },
      { table: 'deliverability.destination_lines', where: sql`ends_at < ${oldest}`, isOfInstallation },
      { table: 'deliverability.destination_budgets', where: sql`refilled_at < ${oldest}`, isOfInstallation },
    );
  }

  #notify(destination: string, until: Date, { begun } = { begun: false }): boolean {
    if (begun) this.database.notify(SLOW_DOWNS_CHANNEL, JSON.stringify({ destination, until }));
    return begun;
  }
}
