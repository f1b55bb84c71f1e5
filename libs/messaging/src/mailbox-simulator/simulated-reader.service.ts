import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, matchLocale } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import { TrackedEventsService } from '../engagement/tracked-events.service.js';
import { isNumbered, type LinkSet } from '../engagement/link-sets.service.js';
import type { Simulation } from './mailbox-simulation.js';
import { takeSimulation } from './mailbox-simulations.query.js';

type Links = Pick<LinkSet, 'translation' | 'urls'>;

/** Opens mails and follows links as readers do, in the transaction that removes the note. */
@Injectable()
export class SimulatedReader {
  constructor(
    private readonly database: Database,
    private readonly events: TrackedEventsService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Opens the mail, or follows its first link. A mail without a pixel tells nobody. */
  async look(simulation: Simulation, behaviour: 'opened' | 'clicked'): Promise<void> {
    const { deliveryId, environmentId, campaignId, queuedOn } = simulation;
    await this.database.system(async () => {
      if (!(await takeSimulation(this.database, simulation)) || !this.config.TRACKING) return;
      const links = await this.#linksOf(simulation);
      if (links === undefined) return;
      const isClick = behaviour === 'clicked' && links.urls.length > 0;
      await this.events.write([
        {
          environmentId,
          campaignId,
          queuedOn,
          deliveryId,
          type: behaviour === 'opened' ? 'OPENED' : 'CLICKED',
          linkNumber: isClick ? 1 : null,
          url: isClick && !isNumbered({ campaignId, ...links }) ? (links.urls[0] ?? null) : null,
          at: this.clock.now(),
          known: 'human',
          agent: 'simulator',
        },
      ]);
    });
  }

  /** Where the links of the mail, in its reader's language, lead; undefined when it is not tracked. */
  async #linksOf({
    environmentId,
    campaignId,
    sourceId,
    queuedOn,
    locale,
  }: Simulation): Promise<Links | undefined> {
    const isTheirs =
      campaignId === null
        ? sql`place = messaging.place_of_step(${sourceId}) and version_id = (
            select version_id from messaging.automation_runs
            where environment_id = ${environmentId} and id = messaging.run_of_step(${sourceId}))`
        : sql`campaign_id = ${campaignId}`;
    const { rows } = await sql<Links>`
      select distinct on (translation) translation, urls from messaging.link_sets
      where environment_id = ${environmentId} and ${isTheirs} and queued_on = ${queuedOn}::date order by translation, id desc
    `.execute(this.database.tables());
    const translations = rows.flatMap(({ translation }) => translation ?? []);
    const read = matchLocale([locale], translations);
    return rows.find(({ translation }) => translation === read);
  }
}
