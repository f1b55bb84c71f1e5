import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import {
  type BudgetGrant,
  DestinationBudgetRepository,
  destinationOf,
  type DomainWarmUp,
  limitOf,
  type LimitSettings,
  providerOf,
  SLOW_DOWN_MS,
  SLOW_DOWNS_CHANNEL,
  slowsDown,
  WarmUpPlaceRepository,
} from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import {
  type Config,
  CONFIG,
  Database,
  LOGGER,
  MailMetrics,
  Notifications,
  type SendOutcome,
  type SmtpStage,
} from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { held } from './delivery-outcome.js';
import type { Admission, DeliveryWork } from './delivery-work.js';

const REFRESH_MS = 10_000;
/** Stages at which a reply may be the destination's: earlier ones are about us and the relay. */
const ABOUT_RECIPIENTS: readonly SmtpStage[] = ['rcpt', 'data', 'body'];
/** A slow-down that lasts nearly as long already is not extended. */
const EXTENDED_AFTER_MS = 60_000;
/** Share of a burst reserved for single mails. */
const RESERVED_FOR_SINGLES = 0.2;

/** A line of waiting mails: a campaign's by its id, else a kind of mail over all projects. */
type Line = string;

/** Destinations that are slowed down, as this worker knows: notified at once, and read now and then. */
@Injectable()
export class SlowedDestinations {
  readonly #until = new Map<string, number>();
  #readAt = Number.NEGATIVE_INFINITY;
  #changes = 0;

  constructor(
    private readonly budgets: DestinationBudgetRepository,
    private readonly notifications: Notifications,
    private readonly metrics: MailMetrics,
  ) {}

  /** Calls `changed` when another worker has slowed a destination down. Returns a function that ends it. */
  listen(changed: () => void): () => void {
    return this.notifications.listen(SLOW_DOWNS_CHANNEL, (payload) => {
      if (payload === null) this.#readAt = Number.NEGATIVE_INFINITY;
      else {
        const { destination, until } = JSON.parse(payload) as { destination: string; until: string };
        this.add(destination, new Date(until));
      }
      changed();
    });
  }

  get changes(): number {
    return this.#changes;
  }

  has(destination: string, at: Date): boolean {
    return (this.#until.get(destination) ?? 0) > at.getTime();
  }

  add(destination: string, until: Date): void {
    if (this.has(destination, new Date(until.getTime() - 1))) return;
    this.#until.set(destination, until.getTime());
    this.#changes += 1;
    this.metrics.isSlowUntil(providerOf(destination), until);
  }

  async refresh(now: Date): Promise<void> {
    if (performance.now() - this.#readAt < REFRESH_MS) return;
    this.#readAt = performance.now();
    for (const [destination, until] of this.#until)
      if (until <= now.getTime()) this.#until.delete(destination);
    for (const { destination, until } of await this.budgets.slowed(now)) this.add(destination, until);
  }
}

/**
 * Paces all workers together: mail leaves no faster than its destination takes it and a new domain is trusted with. Mail by a
 * project's own relays is not limited by destination: there its provider keeps the pace.
 */
@Injectable()
export class DeliveryPacingService {
  readonly #limits: LimitSettings;

  constructor(
    private readonly database: Database,
    private readonly budgets: DestinationBudgetRepository,
    private readonly slowed: SlowedDestinations,
    private readonly warmUpPlaces: WarmUpPlaceRepository,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#limits = { scale: config.THROTTLE_SCALE, otherDomains: config.THROTTLE_DOMAIN_RATE ?? null };
  }

  /** Admits mails of no campaign that have a turn with their destination. */
  admitSingles(works: readonly DeliveryWork[], line: Line): Promise<Admission> {
    return this.#admitByDestination(works, line, this.clock.now());
  }

  /** Admits mails of a campaign that have a place on the day of the domain's warm-up, and a turn with their destination. */
  async admitCampaign(
    works: readonly DeliveryWork[],
    campaignId: string,
    warmUp: DomainWarmUp | null,
    now: Date,
  ): Promise<Admission> {
    const today = await this.#admitByWarmUp(works, warmUp, now);
    const turn = await this.#admitByDestination(today.going, campaignId, now);
    return { going: turn.going, held: [...today.held, ...turn.held] };
  }

  /** Gives back the warm-up places of mails that were admitted and did not leave. */
  async giveBack(works: readonly DeliveryWork[]): Promise<void> {
    const placed = works.flatMap(({ scope, warmUp }) => (warmUp === undefined ? [] : [{ scope, warmUp }]));
    const dayOf = ({ warmUp: { domainId, day } }: (typeof placed)[number]) =>
      `${domainId}/${day.startsAt.getTime()}`;
    for (const group of Map.groupBy(placed, dayOf).values()) {
      const [first] = group;
      if (first !== undefined) await this.warmUpPlaces.giveBack(first.scope, first.warmUp, group.length);
    }
  }

  /** Slows the destination down when it answers that it does not trust us. */
  async answered({ scope, delivery, relay }: DeliveryWork, result: SendOutcome): Promise<void> {
    if (relay !== undefined || !this.#isLimited(scope)) return;
    if (result.kind !== 'temporary' && result.kind !== 'permanent') return;
    if (!ABOUT_RECIPIENTS.includes(result.stage) || !slowsDown(result.reply)) return;
    const destination = destinationOf(delivery.address);
    const now = this.clock.now();
    const until = new Date(now.getTime() + SLOW_DOWN_MS);
    if (this.slowed.has(destination, new Date(until.getTime() - EXTENDED_AFTER_MS))) return;
    this.slowed.add(destination, until);
    if (await this.budgets.slowDown(scope, destination, now, until))
      this.#announce(destination, 'by its answer');
  }

  /**
   * Takes note of a report that a mail was refused for our reputation: several such slow its destination down. A mail by a relay
   * of the project's own was refused for its provider's.
   */
  async reported(scope: ProjectScope, deliveryId: string): Promise<void> {
    const mail = await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.deliveries')
        .select('address')
        .where('id', '=', deliveryId)
        .where('environmentId', '=', scope.environmentId)
        .where('relayKey', 'is', null)
        .executeTakeFirst(),
    );
    // The row may be gone, its person erased, or the mail another relay's.
    if (mail?.address.includes('@') !== true || !this.#isLimited(scope)) return;
    const destination = destinationOf(mail.address);
    if (await this.budgets.reportDistrust(scope, deliveryId, destination, this.clock.now()))
      this.#announce(destination, 'by reports');
  }

  /** Slow-downs that this worker has heard of so far: `isRecalled` changes with it. */
  get slowDowns(): number {
    return this.slowed.changes;
  }

  /** True for an admitted mail whose destination was slowed down since: it has to be admitted anew. */
  isRecalled({ delivery, scope, slow, relay }: DeliveryWork): boolean {
    if (relay !== undefined || scope.environment !== 'LIVE' || slow === true) return false;
    return this.slowed.has(destinationOf(delivery.address), this.clock.now());
  }

  /** A mail takes one place, with its first attempt; the others wait for the next day. */
  async #admitByWarmUp(
    works: readonly DeliveryWork[],
    warmUp: DomainWarmUp | null,
    now: Date,
  ): Promise<Admission> {
    const fresh = works.filter(({ delivery }) => delivery.attempt === 0);
    const [first] = fresh;
    if (warmUp === null || first === undefined || !this.config.THROTTLE) return { going: works, held: [] };
    const places = await this.warmUpPlaces.take(first.scope, warmUp, fresh.length);
    const waiting = fresh.slice(places);
    if (waiting.length > 0) this.metrics.held('warm-up', 'all', waiting.length);
    return {
      going: [
        ...works.filter(({ delivery }) => delivery.attempt > 0),
        ...fresh.slice(0, places).map((work) => ({ ...work, warmUp })),
      ],
      held: waiting.map((work) => ({
        ...work,
        outcome: held(work.delivery, 'warm-up', warmUp.day.endsAt, now),
      })),
    };
  }

  /** Mails that get no turn have their places in `line`. */
  async #admitByDestination(works: readonly DeliveryWork[], line: Line, now: Date): Promise<Admission> {
    const [first] = works;
    // All mails of a sender go by own relays, or none.
    if (first === undefined || first.relay !== undefined || !this.#isLimited(first.scope))
      return { going: works, held: [] };
    await this.slowed.refresh(now);
    const byDestination = Map.groupBy(works, ({ delivery }) => destinationOf(delivery.address));
    const requests = [...byDestination].flatMap(([destination, { length: wanted }]) => {
      const limit = limitOf(destination, this.#limits);
      if (limit.mailsPerSecond === null && !this.slowed.has(destination, now)) return [];
      const kept = line === 'FEW' || limit.burst < 5 ? 0 : limit.burst * RESERVED_FOR_SINGLES;
      return [{ destination, wanted, limit, kept }];
    });
    if (requests.length === 0) return { going: works, held: [] };
    const grants = await this.budgets.take(first.scope, line, requests, now);
    for (const { destination, slowUntil } of grants)
      if (slowUntil !== null) this.slowed.add(destination, slowUntil);
    return this.#divide(byDestination, new Map(grants.map((grant) => [grant.destination, grant])), now);
  }

  #divide(
    byDestination: ReadonlyMap<string, readonly DeliveryWork[]>,
    grants: ReadonlyMap<string, BudgetGrant>,
    now: Date,
  ): Admission {
    const parts = [...byDestination].map(([destination, works]): Admission => {
      const grant = grants.get(destination);
      if (grant === undefined) return { going: works, held: [] };
      const reason = grant.slowUntil === null ? 'throttled' : 'slowed-down';
      const waiting = works.slice(grant.granted);
      if (waiting.length > 0) this.metrics.held(reason, providerOf(destination), waiting.length);
      return {
        going: works.slice(0, grant.granted).map((work) => ({ ...work, slow: grant.slowUntil !== null })),
        held: waiting.map((work, index) => ({
          ...work,
          outcome: held(work.delivery, reason, grant.places[index] ?? now, now),
        })),
      };
    });
    return { going: parts.flatMap(({ going }) => going), held: parts.flatMap((part) => part.held) };
  }

  #isLimited({ environment }: ProjectScope): boolean {
    return environment === 'LIVE' && this.config.THROTTLE;
  }

  #announce(destination: string, cause: string): void {
    this.metrics.slowedDown(providerOf(destination));
    const fields = { destination, cause, minutes: SLOW_DOWN_MS / 60_000 };
    this.logger.warn(fields, 'a destination is slowed down');
  }
}
