import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { LOGGER, MailMetrics } from '#platform';
import type { DeliveryKind } from '../../deliveries/delivery.js';
import type { DeliveryRoute } from '../delivery.route.js';
import type { DeliverySource } from '../delivery-source.js';
import { OwnRelaysRoute, type RelaysOfProject } from '../own-relays/own-relays.route.js';
import { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import type { DeliveryTransport } from '../transports/delivery.transport.js';
import { DeliveryJournal } from './delivery-journal.service.js';
import { DeliverySender } from './delivery-sender.service.js';
import { InstallationRoute } from './installation.route.js';

/** Makes senders: what they have in common is here. */
@Injectable()
export class DeliverySenderFactory {
  constructor(
    private readonly journal: DeliveryJournal,
    private readonly pacing: DeliveryPacing,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  byTransport(source: DeliverySource, transport: DeliveryTransport): DeliverySender {
    const { metrics, clock, logger } = this;
    return this.#by(source, new InstallationRoute({ transport, metrics, clock, logger }));
  }

  /** Of a project's mail of one stream. */
  byRelays(source: DeliverySource, stream: DeliveryKind, relays: RelaysOfProject): DeliverySender {
    return this.#by(source, new OwnRelaysRoute(stream, relays, this.clock));
  }

  #by(source: DeliverySource, route: DeliveryRoute): DeliverySender {
    const { journal, pacing, metrics, clock, logger } = this;
    return new DeliverySender({
      source,
      route,
      journal,
      pacing,
      metrics,
      clock,
      logger,
      random: Math.random,
    });
  }
}
