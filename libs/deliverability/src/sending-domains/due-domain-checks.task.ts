import { Inject, Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import { Database, drain, PeriodicTask, present, presentAnd } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import { DomainCheckRequests } from './domain-check-requests.query.js';

/** A check that was asked for and never came about is asked for again after this long. */
const ASK_AGAIN_MS = 15 * 60_000;
const BATCH = 100;

/** Asks for the checks that are due by the schedule. */
@Injectable()
export class DueDomainChecks extends PeriodicTask {
  override readonly name = 'due-domain-checks';
  override readonly everyMs = 10_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
    @Inject(DomainCheckRequests) private readonly requests: DomainCheckRequests,
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
            .selectFrom('deliverability.sending_domains')
            .select('id')
            .where('nextCheckAt', '<=', present)
            .orderBy('nextCheckAt')
            .limit(BATCH)
            .forNoKeyUpdate()
            .skipLocked(),
        )
        .updateTable('deliverability.sending_domains as d')
        .from('due')
        .set({ nextCheckAt: presentAnd(ASK_AGAIN_MS) })
        .whereRef('d.id', '=', 'due.id')
        .returning(['d.id', 'd.environmentId'])
        .execute();
      for (const { id, environmentId } of due) {
        const scope = await this.environments.find(environmentId);
        if (scope !== null) await this.requests.add(scope, id, 'SCHEDULE');
      }
      return due.length;
    });
  }
}
