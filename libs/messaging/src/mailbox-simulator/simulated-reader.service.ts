import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import { TrackedEvents } from '../engagement/events/tracked-events.service.js';
import type { Simulation } from './mailbox-simulation.js';
import { takeSimulation } from './mailbox-simulations.query.js';

/** Opens mails and follows links as readers do, in the transaction that removes the note. */
@Injectable()
export class SimulatedReader {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TrackedEvents) private readonly events: TrackedEvents,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Opens the mail, or follows its first link. A mail without a pixel tells nobody. */
  async look(simulation: Simulation, behaviour: 'opened' | 'clicked'): Promise<void> {
    const { deliveryId, environmentId, campaignId, queuedOn } = simulation;
    await this.database.system(async () => {
      if (!(await takeSimulation(this.database, simulation)) || !this.config.TRACKING) return;
      const urls = await this.#linksOf(simulation);
      if (urls === null) return;
      const isClick = behaviour === 'clicked' && urls.length > 0;
      await this.events.write([
        {
          environmentId,
          campaignId,
          queuedOn,
          deliveryId,
          type: behaviour === 'opened' ? 'OPENED' : 'CLICKED',
          linkNumber: isClick ? 1 : null,
          url: isClick && campaignId === null ? (urls[0] ?? null) : null,
          at: this.clock.now(),
          known: 'human',
          agent: 'simulator',
        },
      ]);
    });
  }

  /** Where the mail's links lead; null when it is not tracked. */
  async #linksOf({ campaignId, sourceId, queuedOn }: Simulation): Promise<readonly string[] | null> {
    const isTheirs =
      campaignId === null
        ? sql`place = messaging.place_of_step(${sourceId}) and version_id = (
            select version_id from messaging.automation_runs where id = messaging.run_of_step(${sourceId}))`
        : sql`campaign_id = ${campaignId}`;
    const { rows } = await sql<{ urls: string[] }>`
      select urls from messaging.link_sets
      where ${isTheirs} and queued_on = ${queuedOn}::date order by id desc limit 1
    `.execute(this.database.tables());
    return rows[0]?.urls ?? null;
  }
}
