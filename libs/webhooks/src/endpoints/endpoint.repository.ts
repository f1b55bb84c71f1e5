import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { WebhookTables } from '../webhook-tables.js';
import { Endpoint } from './endpoint.js';

type Environment = Pick<ProjectScope, 'environmentId'>;

/** Reads and writes endpoints in the open transaction. */
@Injectable()
export class EndpointRepository {
  constructor(private readonly database: Database) {}

  add(endpoint: Endpoint): void {
    this.database.em.persist(endpoint);
  }

  /** Oldest first. */
  all({ environmentId }: Environment): Promise<Endpoint[]> {
    return this.database.em.find(Endpoint, { environmentId }, { orderBy: { id: 'asc' } });
  }

  /** `lockIfThere`, or `NotFoundError`. */
  async lock(environment: Environment, id: string): Promise<Endpoint> {
    const endpoint = await this.lockIfThere(environment, id);
    if (endpoint === null) throw new NotFoundError();
    return endpoint;
  }

  /**
   * The endpoint, kept from others who change it until the transaction ends, but not from those who tell it something: the
   * unit of work knows no such lock. Null when it is gone.
   */
  async lockIfThere({ environmentId }: Environment, id: string): Promise<Endpoint | null> {
    await this.database
      .tables<WebhookTables>()
      .selectFrom('webhooks.endpoints')
      .select('id')
      .where('environmentId', '=', environmentId)
      .where('id', '=', id)
      .forNoKeyUpdate()
      .execute();
    return this.database.em.findOne(Endpoint, { environmentId, id }, { refresh: true });
  }

  remove(endpoint: Endpoint): void {
    this.database.em.remove(endpoint);
  }

  /** What waits to be told to an endpoint has failed. */
  async failWaiting({ environmentId }: Environment, id: string, reason: string, now: Date): Promise<void> {
    const tables = this.database.tables<WebhookTables>();
    const waiting = tables
      .selectFrom('webhooks.deliveries')
      .select('id')
      .where('endpointId', '=', id)
      .where('environmentId', '=', environmentId)
      .where('state', '=', 'PENDING')
      // As who settles some of them: one order of locks.
      .orderBy('id')
      .forUpdate();
    await tables
      .updateTable('webhooks.deliveries')
      .set({ state: 'FAILED', finishedAt: now, lastError: reason })
      .where('environmentId', '=', environmentId)
      .where('state', '=', 'PENDING')
      .where('id', '=', sql<string>`any(array(${waiting}))`)
      .execute();
  }
}
