import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { WEBHOOKS_CHANNEL } from '../events/webhook-publisher.service.js';
import type { WebhookTables } from '../webhook-tables.js';

/** One event on its way to one endpoint. */
export interface WebhookLogRow {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly endpointId: string;
  readonly state: 'PENDING' | 'DELIVERED' | 'FAILED';
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly createdAt: Date;
  /** Null when it has ended. */
  readonly nextAttemptAt: Date | null;
}

/** Which deliveries are to be posted once more: one, or those of an endpoint since a moment. */
export type Replay =
  | { readonly deliveryId: string }
  | { readonly endpointId: string; readonly since: Date; readonly state: 'FAILED' | 'ALL' };

/** The log of what endpoints were told, and telling it again. */
@Injectable()
export class WebhookLog {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The newest `limit` of an endpoint. */
  async newest(scope: ProjectScope, endpointId: string, limit: number): Promise<WebhookLogRow[]> {
    return this.database.transaction(scope, async () => {
      const rows = await this.database
        .tables<WebhookTables>()
        .selectFrom('webhooks.deliveries as d')
        .innerJoin('webhooks.events as e', (join) =>
          join.onRef('e.id', '=', 'd.eventId').onRef('e.environmentId', '=', 'd.environmentId'),
        )
        .select(['d.id', 'd.eventId', 'e.type', 'd.endpointId', 'd.state', 'd.attempts'])
        .select(['d.lastStatus', 'd.lastError', 'd.createdAt', 'd.nextAttemptAt', 'd.finishedAt'])
        .where('d.endpointId', '=', endpointId)
        .where('d.environmentId', '=', scope.environmentId)
        .orderBy('d.createdAt', 'desc')
        .orderBy('d.id', 'desc')
        .limit(limit)
        .execute();
      return rows.map(({ finishedAt, nextAttemptAt, ...row }) => ({
        ...row,
        nextAttemptAt: finishedAt === null ? nextAttemptAt : null,
      }));
    });
  }

  /** Tells it again from the first attempt on; how many. Endpoints that are disabled are left out. */
  async replay(scope: ProjectScope, which: Replay): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { count } = await this.database
        .tables<WebhookTables>()
        .with('replayed', (tables) =>
          tables
            .insertInto('webhooks.deliveries')
            .columns(['id', 'environmentId', 'endpointId', 'eventId', 'nextAttemptAt', 'createdAt'])
            .expression(this.#ended(scope, which))
            .returning('id'),
        )
        .selectFrom('replayed')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      this.database.wake(WEBHOOKS_CHANNEL);
      return count;
    });
  }

  /** Those that have ended, as they would begin now. */
  #ended(scope: ProjectScope, which: Replay) {
    const now = this.clock.now();
    const ended = this.database
      .tables<WebhookTables>()
      .selectFrom('webhooks.deliveries as d')
      .innerJoin('webhooks.endpoints as p', (join) =>
        join.onRef('p.id', '=', 'd.endpointId').onRef('p.environmentId', '=', 'd.environmentId'),
      )
      .select((eb) => [
        eb.fn<string>('platform.new_id').as('id'),
        'd.environmentId',
        'd.endpointId',
        'd.eventId',
        eb.val(now).as('nextAttemptAt'),
        eb.val(now).as('createdAt'),
      ])
      .where('d.environmentId', '=', scope.environmentId)
      .where('p.status', '=', 'ENABLED')
      .where('d.finishedAt', 'is not', null);
    if ('deliveryId' in which) return ended.where('d.id', '=', which.deliveryId);
    const ofOne = ended.where('d.endpointId', '=', which.endpointId).where('d.createdAt', '>=', which.since);
    return which.state === 'ALL' ? ofOne : ofOne.where('d.state', '=', 'FAILED');
  }
}
