import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { WebhookTables } from '../webhook-tables.js';

export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly occurredAt: Date;
  readonly data: unknown;
}

/** What was told of a person, to show it or to erase it. */
@Injectable()
export class WebhookPersonalData {
  constructor(private readonly database: Database) {}

  /** Oldest first. */
  async of(scope: ProjectScope, subscriberId: string): Promise<ToldEvent[]> {
    return this.database.transaction(scope, () =>
      this.database
        .tables<WebhookTables>()
        .selectFrom('webhooks.events')
        .select(['id', 'type', 'occurredAt', 'data'])
        .where('environmentId', '=', scope.environmentId)
        .where('subscriberId', '=', subscriberId)
        .orderBy('occurredAt')
        .orderBy('id')
        .execute(),
    );
  }

  /** What is still to be told then says of whom, and nothing about them. */
  async erase(scope: ProjectScope, subscriberId: string): Promise<void> {
    const { environmentId } = scope;
    await this.database.transaction(scope, async () => {
      const tables = this.database.tables<WebhookTables>();
      await tables
        .updateTable('webhooks.events')
        .set({ data: sql`jsonb_build_object('subscriberId', ${subscriberId}::uuid)` })
        .where('environmentId', '=', environmentId)
        .where('subscriberId', '=', subscriberId)
        .execute();
      // A receiver's answer may repeat what it was told.
      const told = tables
        .selectFrom('webhooks.deliveries as d')
        .innerJoin('webhooks.events as e', (join) =>
          join.onRef('e.id', '=', 'd.eventId').onRef('e.environmentId', '=', 'd.environmentId'),
        )
        .select('d.id')
        .where('e.environmentId', '=', environmentId)
        .where('e.subscriberId', '=', subscriberId);
      await tables
        .updateTable('webhooks.deliveries')
        .set({ lastError: 'erased' })
        .where('environmentId', '=', environmentId)
        .where('lastError', 'is not', null)
        .where('id', 'in', told)
        .execute();
      await tables
        .updateTable('webhooks.attempts')
        .set({ error: 'erased' })
        .where('environmentId', '=', environmentId)
        .where('error', 'is not', null)
        .where('deliveryId', 'in', told)
        .execute();
    });
  }
}
