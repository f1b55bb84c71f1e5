import { Injectable } from '@nestjs/common';
import { DeliveryTransports } from '../transports/delivery-transports.service.js';
import type { DeliverySender } from './delivery-sender.service.js';
import { DeliverySenderFactory } from './delivery-sender-factory.service.js';
import { DeliverySources } from './delivery-sources.service.js';

/** Sends the mail of all projects but for what goes by relays of their own: one sender for each kind of mail and environment. */
@Injectable()
export class InstallationSenders {
  readonly #senders: DeliverySender[] = [];

  constructor(
    private readonly sources: DeliverySources,
    private readonly transports: DeliveryTransports,
    private readonly factory: DeliverySenderFactory,
  ) {}

  start(): void {
    for (const environment of ['TEST', 'LIVE'] as const) {
      const transport = this.transports.for(environment);
      if (transport === null) continue;
      for (const source of this.sources.of(environment))
        this.#senders.push(this.factory.byTransport(source, transport));
    }
    for (const sender of this.#senders) sender.start();
  }

  wake(): void {
    for (const sender of this.#senders) sender.wake();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#senders.map((sender) => sender.stop()));
    await this.transports.close();
  }
}
