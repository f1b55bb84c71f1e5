import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { DestinationBudgets, destinationOf, providerOf, SLOW_DOWN_MS } from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, LOGGER, MailMetrics } from '#platform';

/** What a mail's destination says of us when the mail comes back after it was accepted by the relay. */
@Injectable()
export class ReportedDistrust {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(DestinationBudgets) private readonly budgets: DestinationBudgets,
    @Inject(MailMetrics) private readonly metrics: MailMetrics,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** A report says that the mail was refused for our reputation: several such slow its destination down. */
  async reported(scope: ProjectScope, deliveryId: string): Promise<void> {
    if (!this.config.THROTTLE || scope.environment !== 'LIVE') return;
    const destination = await this.#destinationOf(scope, deliveryId);
    if (destination === null) return;
    if (!(await this.budgets.reportDistrust(scope, deliveryId, destination, this.clock.now()))) return;
    this.metrics.slowedDown(providerOf(destination));
    this.logger.warn(
      { destination, minutes: SLOW_DOWN_MS / 60_000 },
      'a destination is slowed down: mail comes back',
    );
  }

  /** Null when the delivery is not there any more, or its person was erased. */
  #destinationOf(scope: ProjectScope, deliveryId: string): Promise<string | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ address: string }>`
        select address from messaging.deliveries
        where id = ${deliveryId} and environment_id = ${scope.environmentId}
      `.execute(db);
      const address = rows[0]?.address ?? '';
      return address.includes('@') ? destinationOf(address) : null;
    });
  }
}
