import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, type Environment, withTimeout } from '#kernel';
import {
  type Config,
  CONFIG,
  Database,
  describeError,
  LOGGER,
  MailMetrics,
  Notifications,
  SmtpTransport,
} from '#platform';
import { DELIVERIES_CHANNEL } from '../../deliveries/delivery-queue.query.js';
import { SlowedDestinations } from '../delivery-pacing.service.js';
import type { DeliveryTransport } from '../delivery.route.js';
import { TestInboxTransport } from '../test-inbox.service.js';
import { type DeliverySender, DeliverySenderFactory } from './delivery-sender.service.js';
import { DeliverySourcesService } from './delivery-sources.service.js';
import { InstallationRoute } from './installation.route.js';
import { OwnRelaySendersService } from './own-relay-senders.service.js';

/**
 * Sends what is due, in every worker: by the installation's relay and into test inboxes with one sender for each kind of mail and
 * environment, and by projects' own relays.
 */
@Injectable()
export class DeliveryEngineService {
  #senders: readonly DeliverySender[] = [];
  #transports: readonly DeliveryTransport[] = [];
  #stopListening: readonly (() => void)[] = [];

  constructor(
    private readonly database: Database,
    private readonly sources: DeliverySourcesService,
    private readonly factory: DeliverySenderFactory,
    private readonly ownRelays: OwnRelaySendersService,
    private readonly slowed: SlowedDestinations,
    private readonly notifications: Notifications,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  start(): void {
    this.#stopListening = [
      this.notifications.listen(DELIVERIES_CHANNEL, () => this.wake()),
      this.slowed.listen(() => this.wake()),
    ];
    this.#startInstallation();
    this.ownRelays.start();
  }

  wake(): void {
    for (const sender of this.#senders) sender.wake();
    this.ownRelays.wake();
  }

  /**
   * Resolves when what was on the wire is recorded and what was claimed is given back, or after `timeoutMs`:
   * what hangs on a wire then is found by its lease.
   */
  async stop(timeoutMs: number): Promise<void> {
    for (const stop of this.#stopListening) stop();
    const ended = Promise.all([this.#stopInstallation(), this.ownRelays.stop()]);
    await withTimeout(ended, timeoutMs, () => undefined);
  }

  #startInstallation(): void {
    const smtp = this.#connectSmtp();
    const testInbox = new TestInboxTransport(this.database, this.clock);
    this.#transports = smtp === null ? [testInbox] : [testInbox, smtp];
    this.#senders = [
      ...this.#makeSenders('TEST', testInbox),
      // Without a relay live mail waits.
      ...(smtp === null ? [] : this.#makeSenders('LIVE', smtp)),
    ];
    for (const sender of this.#senders) sender.start();
  }

  async #stopInstallation(): Promise<void> {
    const [senders, transports] = [this.#senders, this.#transports];
    this.#senders = [];
    this.#transports = [];
    await Promise.all(senders.map((sender) => sender.stop()));
    await Promise.all(transports.map((transport) => transport.close()));
  }

  #makeSenders(environment: Environment, transport: DeliveryTransport): DeliverySender[] {
    const { metrics, clock, logger } = this;
    return this.sources
      .of(environment)
      .map((source) => this.factory.make(source, new InstallationRoute(transport, metrics, clock, logger)));
  }

  #connectSmtp(): SmtpTransport | null {
    const { SMTP_URL, SMTP_CONNECTIONS, SMTP_MESSAGES_PER_CONNECTION, SMTP_EHLO_NAME } = this.config;
    if (SMTP_URL === undefined) return null;
    return new SmtpTransport({
      url: SMTP_URL,
      connections: SMTP_CONNECTIONS,
      messagesPerConnection: SMTP_MESSAGES_PER_CONNECTION,
      ehloName: SMTP_EHLO_NAME,
      onConnectionError: (error) =>
        this.logger.warn({ error: describeError(error) }, 'connecting to SMTP_URL failed'),
    });
  }
}
