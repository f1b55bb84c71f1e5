import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, type Environment } from '#kernel';
import { LOGGER, MailMetrics, Notifications } from '#platform';
import { CampaignFinishQuery } from './campaign-finish.query.js';
import { CampaignPreparation } from '../preparation/campaign-preparation.service.js';
import { CampaignSource } from './campaign-source.js';
import { DELIVERIES_CHANNEL } from '../../deliveries/deliveries.channel.js';
import { DeliveryClaimsQuery } from './delivery-claims.query.js';
import { DeliveryJournal } from './delivery-journal.service.js';
import { DeliverySender } from './delivery-sender.service.js';
import { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import type { DeliverySource } from '../delivery-source.js';
import { SlowedDestinations } from '../pacing/slowed-destinations.service.js';
import type { DeliveryTransport } from '../transports/delivery.transport.js';
import { DeliveryTransports } from '../transports/delivery-transports.service.js';
import { SinglesPreparation } from '../preparation/singles-preparation.service.js';
import { SinglesSource } from './singles-source.js';

/** What there is to send. Confirmations, automations and campaigns apart, so that neither holds up a confirmation. */
@Injectable()
export class DeliverySources {
  constructor(
    @Inject(DeliveryClaimsQuery) private readonly claims: DeliveryClaimsQuery,
    @Inject(CampaignFinishQuery) private readonly finish: CampaignFinishQuery,
    @Inject(SinglesPreparation) private readonly singles: SinglesPreparation,
    @Inject(CampaignPreparation) private readonly campaigns: CampaignPreparation,
  ) {}

  of(environment: Environment): DeliverySource[] {
    return [
      new SinglesSource(environment, 'FEW', this.claims, this.singles),
      new SinglesSource(environment, 'AUTOMATION', this.claims, this.singles),
      new CampaignSource(environment, this.claims, this.finish, this.campaigns),
    ];
  }
}

/** What all senders have in common. */
@Injectable()
export class DeliverySenderFactory {
  constructor(
    @Inject(DeliveryJournal) private readonly journal: DeliveryJournal,
    @Inject(DeliveryPacing) private readonly pacing: DeliveryPacing,
    @Inject(MailMetrics) private readonly metrics: MailMetrics,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  of(source: DeliverySource, transport: DeliveryTransport): DeliverySender {
    const { journal, pacing, metrics, clock, logger } = this;
    const random = Math.random;
    return new DeliverySender({ source, transport, journal, pacing, metrics, clock, logger, random });
  }
}

/** Sends what is due, in every worker: one sender for each kind of mail and environment. */
@Injectable()
export class DeliveryEngine {
  readonly #senders: DeliverySender[] = [];
  #stopListening: () => void = () => undefined;

  constructor(
    @Inject(DeliverySources) private readonly sources: DeliverySources,
    @Inject(DeliveryTransports) private readonly transports: DeliveryTransports,
    @Inject(DeliverySenderFactory) private readonly factory: DeliverySenderFactory,
    @Inject(SlowedDestinations) private readonly slowed: SlowedDestinations,
    @Inject(Notifications) private readonly notifications: Notifications,
  ) {}

  start(): void {
    for (const environment of ['TEST', 'LIVE'] as const) {
      const transport = this.transports.for(environment);
      if (transport === null) continue;
      for (const source of this.sources.of(environment))
        this.#senders.push(this.factory.of(source, transport));
    }
    const stops = [
      this.notifications.listen(DELIVERIES_CHANNEL, () => this.wake()),
      this.slowed.listen(this.notifications, () => this.wake()),
    ];
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
    for (const sender of this.#senders) sender.start();
  }

  wake(): void {
    for (const sender of this.#senders) sender.wake();
  }

  /**
   * Resolves when what was on the wire is recorded and what was claimed is given back, or after `timeoutMs`:
   * what hangs on a wire then is found by its lease.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopListening();
    const ended = this.#stopSenders();
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    await Promise.race([ended, timeout]);
    clearTimeout(timer);
  }

  async #stopSenders(): Promise<void> {
    await Promise.all(this.#senders.map((sender) => sender.stop()));
    await this.transports.close();
  }
}
