import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import type { DestinationLimit } from './destination.js';
import { DISTRUST_REPORTS, SLOW_DOWN_MS } from '../bounces/slow-down.js';

/** How many mails a batch has for a destination. */
export interface BudgetRequest {
  readonly destination: string;
  readonly wanted: number;
  readonly limit: DestinationLimit;
  /** As many of the burst are left for others. */
  readonly kept: number;
}

/** What a destination takes of them now. */
export interface BudgetGrant {
  readonly destination: string;
  readonly granted: number;
  /** When to ask again for each of the others. */
  readonly places: readonly Date[];
  /** Null where it is not slowed down. */
  readonly slowUntil: Date | null;
}

/** Channel on which workers hear that a destination was slowed down. */
export const SLOW_DOWNS_CHANNEL = 'mailwright_slow_downs';

/** The budgets of destinations that all workers share: SQL functions count them, since a project's rows show none. */
@Injectable()
export class DestinationBudgets {
  constructor(private readonly database: Database) {}

  /**
   * Takes the mails of a batch that may go now, in one statement. Of a destination without a limit there is no grant: all of
   * its mails may go. `line`: those of one line that must wait do so one after the other.
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
      sql<BudgetGrant>`
        select destination, granted, places, slow_until as "slowUntil"
        from deliverability.take_budgets(${line}::text, ${JSON.stringify(asked)}::jsonb, ${now}::timestamptz)
      `,
      { flushed: false },
    );
  }

  /** Those that are slowed down now, and until when. */
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

  /** What `slowed` tells, to a project. */
  slowedFor(scope: ProjectScope, now: Date): Promise<ReadonlyMap<string, Date>> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ destination: string; until: Date }>`
        select destination, slow_until as until from deliverability.slowed_now(${now}::timestamptz)
      `.execute(this.database.tables());
      return new Map(rows.map(({ destination, until }) => [destination, until]));
    });
  }

  /**
   * Notes a report on a delivery that its destination does not trust us, as part of the open transaction, and slows the
   * destination down when there are enough; true when it was not slow before.
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
      return this.#tell(destination, until, rows[0]);
    });
  }

  /** Slows a destination down; true when it was not slow before. Every worker hears of it. */
  async slowDown(scope: ProjectScope, destination: string, now: Date, until: Date): Promise<boolean> {
    const [row] = await this.database.statement(
      scope,
      sql<{ readonly begun: boolean }>`
        select deliverability.slow_destination(${destination}::text, ${now}::timestamptz, ${until}::timestamptz) as begun
      `,
    );
    return this.#tell(destination, until, row);
  }

  #tell(destination: string, until: Date, { begun } = { begun: false }): boolean {
    if (begun) this.database.notify(SLOW_DOWNS_CHANNEL, JSON.stringify({ destination, until }));
    return begun;
  }
}
