import { Injectable } from '@nestjs/common';
import { EnvironmentsQuery, TrackingHostCheckRequested } from '#access';
import { Database, drain, PeriodicTask, present, presentAnd, publish } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';

/** A check that was asked for and never came about is asked for again after this long. */
const ASK_AGAIN_MS = 15 * 60_000;
const BATCH = 100;

/** Asks for the checks of hosts for links that are due by the schedule. */
@Injectable()
export class DueTrackingHostChecks extends PeriodicTask {
  override readonly name = 'due-tracking-host-checks';
  override readonly everyMs = 10_000;

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
  ) {
    super();
  }

  override async run(): Promise<void> {
    await drain(BATCH, () => this.#askForBatch());
  }

  #askForBatch(): Promise<number> {
    return this.database.system(async () => {
      const due = await this.database
        .tables<DeliverabilityTables>()
        .with('due', (tables) =>
          tables
            .selectFrom('deliverability.tracking_hosts')
            .select(['projectId', 'host'])
            .where('nextCheckAt', '<=', present)
            .orderBy('nextCheckAt')
            .limit(BATCH)
            .forNoKeyUpdate()
            .skipLocked(),
        )
        .updateTable('deliverability.tracking_hosts as h')
        .from('due')
        .set({ nextCheckAt: presentAnd(ASK_AGAIN_MS) })
        .whereRef('h.projectId', '=', 'due.projectId')
        .whereRef('h.host', '=', 'due.host')
        .returning(['h.namedIn', 'h.host'])
        .execute();
      for (const { namedIn, host } of due) {
        const scope = await this.environments.find(namedIn);
        if (scope !== null) await publish(this.database, scope, TrackingHostCheckRequested({ host }));
      }
      return due.length;
    });
  }
}
