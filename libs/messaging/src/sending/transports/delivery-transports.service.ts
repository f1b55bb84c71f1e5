import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, type Environment } from '#kernel';
import { type Config, CONFIG, Database, describeError, LOGGER, SmtpTransport } from '#platform';
import type { DeliveryTransport } from './delivery.transport.js';
import { SmtpDelivery } from './smtp.transport.js';
import { TestInboxDelivery } from './test-inbox.transport.js';

/** Which way mail of an environment goes: the test environment's into its inbox, whatever is configured. */
@Injectable()
export class DeliveryTransports {
  readonly #testInbox: DeliveryTransport;
  #smtp: DeliveryTransport | null = null;

  constructor(
    database: Database,
    clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#testInbox = new TestInboxDelivery(database, clock);
  }

  /** Shared by the senders of an environment; null when live mail has nowhere to go and waits. */
  for(environment: Environment): DeliveryTransport | null {
    if (environment === 'TEST') return this.#testInbox;
    this.#smtp ??= this.#connectSmtp();
    return this.#smtp;
  }

  /** Finishes what is on the wire and closes the connections. */
  async close(): Promise<void> {
    await this.#smtp?.close();
  }

  #connectSmtp(): DeliveryTransport | null {
    const { SMTP_URL, SMTP_CONNECTIONS, SMTP_MESSAGES_PER_CONNECTION, SMTP_EHLO_NAME } = this.config;
    if (SMTP_URL === undefined) return null;
    return new SmtpDelivery(
      new SmtpTransport({
        url: SMTP_URL,
        connections: SMTP_CONNECTIONS,
        messagesPerConnection: SMTP_MESSAGES_PER_CONNECTION,
        ehloName: SMTP_EHLO_NAME,
        onConnectionError: (error) =>
          this.logger.warn({ error: describeError(error) }, 'connecting to SMTP_URL failed'),
      }),
    );
  }
}
