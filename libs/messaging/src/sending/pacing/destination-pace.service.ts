import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import {
  type BudgetGrant,
  DestinationBudgets,
  destinationOf,
  limitOf,
  type LimitSettings,
  providerOf,
  SLOW_DOWN_MS,
  slowsDown,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, LOGGER, MailMetrics, type SendOutcome, type SmtpStage } from '#platform';
import { held } from '../delivery-outcome.js';
import type { Admission, DeliveryWork } from '../delivery-source.js';
import { SlowedDestinations } from './slowed-destinations.service.js';

/** Where a reply may be the destination's: before that it is about us and the relay. */
const ABOUT_RECIPIENTS: readonly SmtpStage[] = ['rcpt', 'data', 'body'];
/** As long as a slow-down is still that much longer, another reason for it changes nothing. */
const EXTENDED_AFTER_MS = 60_000;
/** Of a burst as much is left to those who wait for a single mail. */
const KEPT_FOR_SINGLES = 0.2;

/** Lines of mails that wait: of a campaign by its id, else of a kind of mail over all projects. */
export type Line = string;

/** Holds all workers together to the limits of destinations. */
@Injectable()
export class DestinationPace {
  readonly #settings: LimitSettings;

  constructor(
    private readonly budgets: DestinationBudgets,
    private readonly slowed: SlowedDestinations,
    private readonly metrics: MailMetrics,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#settings = { scale: config.THROTTLE_SCALE, otherDomains: config.THROTTLE_DOMAIN_RATE ?? null };
  }

  /** Those of a batch that may go now; the others have their places in `line`. What has been on a wire is not asked. */
  async admit(works: readonly DeliveryWork[], line: Line, now: Date): Promise<Admission> {
    const scope = works[0]?.scope;
    if (scope === undefined || !this.#holds(scope)) return { going: works, held: [] };
    await this.slowed.refresh(now);
    const byDestination = Map.groupBy(works, ({ delivery }) => destinationOf(delivery.address));
    const requests = [...byDestination].flatMap(([destination, { length: wanted }]) => {
      const limit = limitOf(destination, this.#settings);
      if (limit.mailsPerSecond === null && !this.slowed.has(destination, now)) return [];
      const kept = line === 'FEW' || limit.burst < 5 ? 0 : limit.burst * KEPT_FOR_SINGLES;
      return [{ destination, wanted, limit, kept }];
    });
    if (requests.length === 0) return { going: works, held: [] };
    const grants = await this.budgets.take(scope, line, requests, now);
    for (const { destination, slowUntil } of grants)
      if (slowUntil !== null) this.slowed.add(destination, slowUntil);
    return this.#divide(byDestination, new Map(grants.map((grant) => [grant.destination, grant])), now);
  }

  isRecalled({ delivery, scope, slow }: DeliveryWork, now: Date): boolean {
    return (
      scope.environment === 'LIVE' && slow !== true && this.slowed.has(destinationOf(delivery.address), now)
    );
  }

  get slowDowns(): number {
    return this.slowed.changes;
  }

  /** Slows the destination down when it answers that it does not trust us. */
  async answered({ scope, delivery }: DeliveryWork, result: SendOutcome, now: Date): Promise<void> {
    if (!this.#holds(scope)) return;
    if (result.kind !== 'temporary' && result.kind !== 'permanent') return;
    if (!ABOUT_RECIPIENTS.includes(result.stage) || !slowsDown(result.reply)) return;
    const destination = destinationOf(delivery.address);
    const until = new Date(now.getTime() + SLOW_DOWN_MS);
    if (this.slowed.has(destination, new Date(until.getTime() - EXTENDED_AFTER_MS))) return;
    this.slowed.add(destination, until);
    if (await this.budgets.slowDown(scope, destination, now, until)) this.#tell(destination, 'by its answer');
  }

  /** A report says that a mail to `address` was refused for our reputation: several such slow its destination down. */
  async reported(scope: ProjectScope, deliveryId: string, address: string, now: Date): Promise<void> {
    if (!this.#holds(scope)) return;
    const destination = destinationOf(address);
    if (await this.budgets.reportDistrust(scope, deliveryId, destination, now))
      this.#tell(destination, 'by reports');
  }

  #holds({ environment }: ProjectScope): boolean {
    return environment === 'LIVE' && this.config.THROTTLE;
  }

  #tell(destination: string, cause: string): void {
    this.metrics.slowedDown(providerOf(destination));
    const fields = { destination, cause, minutes: SLOW_DOWN_MS / 60_000 };
    this.logger.warn(fields, 'a destination is slowed down');
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
}
