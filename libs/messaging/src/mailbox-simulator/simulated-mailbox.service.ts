import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import { Clock } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import { MailPagesService } from '../engagement/mail-pages/mail-pages.service.js';
import { DeliveryFeedback } from '../engagement/feedback/delivery-feedback.service.js';
import type { MailboxBehaviour } from './mailbox-simulation.js';
import { TrackedEvents } from '../engagement/events/tracked-events.service.js';

/** A mail whose mailbox is simulated, and was accepted. */
export interface Simulation {
  readonly deliveryId: string;
  readonly behaviour: MailboxBehaviour;
  readonly environmentId: number;
  /** Null for an automation's mail. */
  readonly campaignId: string | null;
  /** The campaign, or the step of somebody's run. */
  readonly sourceId: string;
  /** The partition of the delivery, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly state: string;
}

const READER = {
  how: 'ONE_CLICK',
  ipAddress: '127.0.0.1',
  userAgent: 'Mailwright mailbox simulator',
} as const;

/** What a simulated mailbox does, by the ways that real events take, once: its note goes in the same transaction. */
@Injectable()
export class SimulatedMailbox {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
    @Inject(TrackedEvents) private readonly events: TrackedEvents,
    @Inject(DeliveryFeedback) private readonly feedback: DeliveryFeedback,
    @Inject(MailPagesService) private readonly pages: MailPagesService,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async act(simulation: Simulation): Promise<void> {
    const { behaviour } = simulation;
    if (behaviour === 'opened' || behaviour === 'clicked') await this.#look(simulation, behaviour);
    else await this.#answer(simulation, behaviour);
  }

  /** Opens the mail, or follows its first link. A mail without a pixel tells nobody. */
  async #look(simulation: Simulation, behaviour: 'opened' | 'clicked'): Promise<void> {
    const { deliveryId, environmentId, campaignId, queuedOn } = simulation;
    await this.database.system(async () => {
      if (!(await take(this.database, simulation)) || !this.config.TRACKING) return;
      const urls = await linksOf(this.database, simulation);
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

  async #answer(
    simulation: Simulation,
    behaviour: Exclude<MailboxBehaviour, 'opened' | 'clicked'>,
  ): Promise<void> {
    const scope = await this.environments.find(simulation.environmentId);
    if (scope === null) return;
    const { deliveryId } = simulation;
    await this.database.transaction(scope, async () => {
      if (!(await take(this.database, simulation))) return;
      switch (behaviour) {
        case 'bounced':
          await this.feedback.bounced(scope, deliveryId, 'hard');
          return;
        case 'soft-bounced':
          await this.feedback.bounced(scope, deliveryId, 'mailbox');
          return;
        case 'complained':
          return this.feedback.complained(scope, deliveryId);
        case 'unsubscribed':
          return this.pages.unsubscribe(scope, deliveryId, 'topics', READER);
      }
    });
  }
}

/** False when another worker has it, or the mail was not sent after all. */
async function take(database: Database, { deliveryId, state }: Simulation): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from messaging.mailbox_simulations where delivery_id = ${deliveryId}
  `.execute(database.tables());
  return numAffectedRows === 1n && state === 'SENT';
}

/** Where the mail's links lead; null when it is not tracked. */
async function linksOf(
  database: Database,
  { campaignId, sourceId, queuedOn }: Simulation,
): Promise<readonly string[] | null> {
  const isTheirs =
    campaignId === null
      ? sql`place = messaging.place_of_step(${sourceId}) and version_id = (
          select version_id from messaging.automation_runs where id = messaging.run_of_step(${sourceId}))`
      : sql`campaign_id = ${campaignId}`;
  const { rows } = await sql<{ urls: string[] }>`
    select urls from messaging.link_sets
    where ${isTheirs} and queued_on = ${queuedOn}::date order by id desc limit 1
  `.execute(database.tables());
  return rows[0]?.urls ?? null;
}
