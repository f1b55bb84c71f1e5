import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { EnvironmentsQuery } from '#access';
import { Clock, matchLocale } from '#kernel';
import { type Config, CONFIG, Database, logFailure, LOGGER, Loop, Notifications } from '#platform';
import { TrackedEventsService } from '../engagement/tracked-events.service.js';
import { DeliveryFeedbackService } from '../engagement/delivery-feedback.service.js';
import { MailPagesService } from '../engagement/mail-pages.service.js';
import { isNumbered, type LinkSet } from '../engagement/link-sets.service.js';
import type { MessagingTables } from '../messaging-tables.js';
import { type MailboxBehaviour, mailboxBehaviour } from './mailbox-behaviour.js';

/** Channel on which workers hear that there is a mailbox to simulate. */
const SIMULATIONS_CHANNEL = 'mailwright_simulations';
const LOOK_EVERY_MS = 10_000;
const ACCEPTED_SOON_MS = 50;
const AT_ONCE = 200;
const READER = {
  how: 'ONE_CLICK',
  ipAddress: '127.0.0.1',
  userAgent: 'Mailwright mailbox simulator',
} as const;

interface KeptMail {
  readonly deliveryId: string;
  readonly environmentId: number;
  readonly to: string;
}

/** A mail whose mailbox is simulated, and was accepted. */
interface Simulation {
  readonly deliveryId: string;
  readonly behaviour: MailboxBehaviour;
  readonly environmentId: number;
  /** Null for the mail of an automation or a message. */
  readonly campaignId: string | null;
  readonly messageId: string | null;
  /** The campaign, the message, or the step of somebody's run. */
  readonly sourceId: string;
  /** The partition of the delivery, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly locale: string | null;
  readonly state: string;
}

interface SimulatedLinks extends Pick<LinkSet, 'translation' | 'urls'> {
  readonly id: number;
  readonly versionId: number | null;
  readonly place: number | null;
}

/** Notes, in the transaction that keeps a mail in the test inbox, what its mailbox is to do with it. */
export async function noteSimulation(
  database: Database,
  { deliveryId, environmentId, to }: KeptMail,
  createdAt: Date,
): Promise<void> {
  const behaviour = mailboxBehaviour(to);
  if (behaviour === null) return;
  await database
    .tables<MessagingTables>()
    .insertInto('messaging.mailbox_simulations')
    .values({ deliveryId, environmentId, behaviour, createdAt })
    .onConflict((conflict) => conflict.columns(['deliveryId', 'environmentId']).doNothing())
    .execute();
  database.notify(SIMULATIONS_CHANNEL);
}

/**
 * Acts as the mailboxes of simulated addresses on mails of the test environment that they accepted. There is a note for each in
 * messaging.mailbox_simulations, which outlives a worker that dies and is removed in the transaction of the act.
 */
@Injectable()
export class MailboxSimulatorService {
  readonly #loop: Loop;
  #soon: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    notifications: Notifications,
    private readonly environments: EnvironmentsQuery,
    private readonly feedback: DeliveryFeedbackService,
    private readonly pages: MailPagesService,
    private readonly events: TrackedEventsService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      LOOK_EVERY_MS,
      () => this.pass(),
      (error) => logFailure(this.logger, error, 'simulating mailboxes failed'),
      [(wake) => notifications.listen(SIMULATIONS_CHANNEL, wake)],
    );
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#soon);
    await this.#loop.stop();
  }

  /** Simulates all mails that are recorded as accepted by now, and looks again soon for the rest. */
  async pass(): Promise<void> {
    for (;;) {
      const { ready, isWaiting } = await this.#due();
      const failures = await this.#actAll(ready);
      if (ready.length === AT_ONCE && failures === 0) continue;
      clearTimeout(this.#soon);
      if (isWaiting) this.#soon = setTimeout(() => this.#loop.wake(), ACCEPTED_SOON_MS);
      return;
    }
  }

  #due(): Promise<{ ready: Simulation[]; isWaiting: boolean }> {
    return this.database.system(async () => {
      const tables = this.database.tables();
      const ready = await sql<Simulation>`
        select s.delivery_id, s.behaviour, s.environment_id,
          case when d.kind = 'CAMPAIGN' then d.source_id end as campaign_id,
          case when d.kind = 'MESSAGE' then d.source_id end as message_id, d.source_id, d.queued_on, d.locale, d.state
        from messaging.mailbox_simulations s
        cross join lateral (
          select * from messaging.deliveries d where d.id = s.delivery_id and d.environment_id = s.environment_id
        ) d
        where d.finished_at is not null order by s.created_at limit ${AT_ONCE}
      `.execute(tables);
      const waiting = await sql<{ is: boolean }>`
        select exists (
          select 1 from messaging.mailbox_simulations s
          cross join lateral (
            select d.finished_at from messaging.deliveries d
            where d.id = s.delivery_id and d.environment_id = s.environment_id
          ) d
          where d.finished_at is null
        ) as is
      `.execute(tables);
      return { ready: ready.rows, isWaiting: waiting.rows[0]?.is === true };
    });
  }

  /** One that fails does not hold up the others; it is tried again at the next pass. */
  async #actAll(simulations: readonly Simulation[]): Promise<number> {
    let failures = 0;
    for (const simulation of simulations) {
      const { behaviour } = simulation;
      try {
        if (behaviour === 'opened' || behaviour === 'clicked') await this.#read(simulation, behaviour);
        else await this.#answer(simulation, behaviour);
      } catch (error) {
        failures += 1;
        logFailure(this.logger, error, 'simulating a mailbox failed');
      }
    }
    return failures;
  }

  /** Opens the mail, or follows its first tracked link, as a reader does. A mail that is not tracked records nothing. */
  async #read(simulation: Simulation, behaviour: 'opened' | 'clicked'): Promise<void> {
    const { deliveryId, environmentId, campaignId, messageId, queuedOn } = simulation;
    await this.database.system(async () => {
      if (!(await this.#take(simulation)) || !this.config.TRACKING) return;
      const links = await this.#linksOf(simulation);
      if (links === undefined) return;
      const isClick = behaviour === 'clicked' && links.urls.length > 0;
      await this.events.write([
        {
          environmentId,
          campaignId,
          messageId,
          versionId: links.versionId,
          place: links.place,
          queuedOn,
          deliveryId,
          linkSet: links.id,
          type: isClick ? 'CLICKED' : 'OPENED',
          linkNumber: isClick ? 1 : null,
          url: isClick && !isNumbered({ campaignId, ...links }) ? (links.urls[0] ?? null) : null,
          at: this.clock.now(),
          known: 'human',
          agent: 'simulator',
        },
      ]);
    });
  }

  /** The targets of the mail's links, in its reader's language; undefined when it is not tracked. */
  async #linksOf(simulation: Simulation) {
    const { deliveryId, behaviour, environmentId, campaignId, messageId, sourceId, queuedOn, locale } =
      simulation;
    // Copies are not tracked.
    if (messageId !== null && messageId !== deliveryId) return undefined;
    const hasPixel = sql`(
      select track_opens from messaging.messages where environment_id = ${environmentId} and id = ${messageId}
    )`;
    const isSeen = behaviour === 'clicked' ? sql`(cardinality(urls) > 0 or ${hasPixel})` : hasPixel;
    const ofMessage = sql`message_id = ${messageId} and ${isSeen}`;
    const isTheirs =
      messageId !== null
        ? ofMessage
        : campaignId === null
          ? sql`place = messaging.place_of_step(${sourceId}) and version_id = (
            select version_id from messaging.automation_runs
            where environment_id = ${environmentId} and id = messaging.run_of_step(${sourceId}))`
          : sql`campaign_id = ${campaignId}`;
    const { rows } = await sql<SimulatedLinks>`
      select distinct on (translation) id, translation, urls, version_id, place from messaging.link_sets
      where environment_id = ${environmentId} and ${isTheirs} and queued_on = ${queuedOn}::date order by translation, id desc
    `.execute(this.database.tables());
    const translations = rows.flatMap(({ translation }) => translation ?? []);
    const read = matchLocale([locale], translations);
    return rows.find(({ translation }) => translation === read);
  }

  /** Bounces, complains and unsubscribes as real mailboxes do. */
  async #answer(
    simulation: Simulation,
    behaviour: Exclude<MailboxBehaviour, 'opened' | 'clicked'>,
  ): Promise<void> {
    const scope = await this.environments.find(simulation.environmentId);
    if (scope === null) return;
    const { deliveryId } = simulation;
    await this.database.transaction(scope, async () => {
      if (!(await this.#take(simulation))) return;
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
          await this.pages.unsubscribe(scope, { id: deliveryId }, 'topics', READER);
          return;
      }
    });
  }

  /** Removes the note. False when another worker has done so, or the mail was not sent after all. */
  async #take({ deliveryId, environmentId, state }: Simulation): Promise<boolean> {
    const { numDeletedRows } = await this.database
      .tables<MessagingTables>()
      .deleteFrom('messaging.mailbox_simulations')
      .where('environmentId', '=', environmentId)
      .where('deliveryId', '=', deliveryId)
      .executeTakeFirst();
    return numDeletedRows === 1n && state === 'SENT';
  }
}
