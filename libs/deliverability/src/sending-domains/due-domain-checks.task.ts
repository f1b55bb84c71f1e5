import { Inject, Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import { type Config, CONFIG, Database, drain, PeriodicTask, present, presentAnd } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import { recordsOfSettings } from './domain-records-maker.service.js';
import { DomainCheckRequests } from './domain-check-requests.query.js';

/** A check that was asked for and never came about is asked for again after this long. */
const ASK_AGAIN_MS = 15 * 60_000;
const BATCH = 100;

/** Asks for the checks that are due by the schedule. */
@Injectable()
export class DueDomainChecks extends PeriodicTask {
  override readonly name = 'due-domain-checks';
  override readonly everyMs = 10_000;
  #hasSeenSettings = false;

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly requests: DomainCheckRequests,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super();
  }

  override async run(): Promise<void> {
    if (!this.#hasSeenSettings) await this.#bringForward();
    this.#hasSeenSettings = true;
    await drain(BATCH, () => this.#askForBatch());
  }

  /** Makes the checks due whose domains ask for hosts that the settings name no more: a check brings their records up to date. */
  async #bringForward(): Promise<void> {
    const { SPF, MX } = recordsOfSettings(this.config);
    const outdated = await this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.dns_records')
        .select('environmentId')
        .distinct()
        .where((eb) =>
          eb.or([
            eb.and([eb('purpose', '=', 'SPF'), eb('expectedValue', '<>', SPF)]),
            eb.and([eb('purpose', '=', 'MX'), eb('expectedValue', '<>', MX)]),
          ]),
        )
        .execute(),
    );
    for (const { environmentId } of outdated) {
      await this.database.system(() =>
        this.database
          .tables<DeliverabilityTables>()
          .updateTable('deliverability.sending_domains')
          .set({ nextCheckAt: present })
          .where('environmentId', '=', environmentId)
          .where('nextCheckAt', '>', present)
          .execute(),
      );
    }
  }

  async #askForBatch(): Promise<number> {
    const due = await this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.sending_domains')
        .select('environmentId')
        .where('nextCheckAt', '<=', present)
        .orderBy('nextCheckAt')
        .limit(BATCH)
        .execute(),
    );
    let asked = 0;
    for (const { environmentId } of due) if (await this.#askFor(environmentId)) asked += 1;
    return asked;
  }

  /** An environment has one domain. False when another worker was faster. */
  #askFor(environmentId: number): Promise<boolean> {
    return this.database.system(async () => {
      const domain = await this.database
        .tables<DeliverabilityTables>()
        .updateTable('deliverability.sending_domains')
        .set({ nextCheckAt: presentAnd(ASK_AGAIN_MS) })
        .where('environmentId', '=', environmentId)
        .where('nextCheckAt', '<=', present)
        .returning('id')
        .executeTakeFirst();
      if (domain === undefined) return false;
      const scope = await this.environments.find(environmentId);
      if (scope !== null) await this.requests.add(scope, domain.id, 'SCHEDULE');
      return true;
    });
  }
}
