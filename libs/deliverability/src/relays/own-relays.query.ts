import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import type { Relay } from './relay.js';

/** `environment_id` and `stream` of the mail that goes by relays of the projects' own, once for each relay. */
export const ownStreams: RawBuilder<unknown> = sql`(
  select r.environment_id, unnest(r.streams) as stream from deliverability.relays r
)`;

/** A relay as a sender needs it. */
export type OwnRelay = Pick<
  Relay,
  | 'id'
  | 'environmentId'
  | 'projectId'
  | 'relayKey'
  | 'kind'
  | 'host'
  | 'port'
  | 'tls'
  | 'username'
  | 'passwordBox'
  | 'options'
  | 'streams'
  | 'priority'
  | 'weight'
  | 'connections'
  | 'ratePerSecond'
  | 'signing'
  | 'status'
>;

/** The relays that projects have of their own, as senders need them. */
@Injectable()
export class OwnRelaysQuery {
  constructor(private readonly database: Database) {}

  /** Of these environments, in the order in which they are tried. The password is sealed. */
  of(environmentIds: readonly number[]): Promise<OwnRelay[]> {
    return this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['id', 'environmentId', 'projectId', 'relayKey', 'kind', 'host', 'port', 'tls', 'username'])
        .select(['passwordBox', 'options', 'streams', 'priority', 'weight', 'connections', 'ratePerSecond'])
        .select(['signing', 'status'])
        .where('environmentId', 'in', environmentIds)
        .orderBy('environmentId')
        .orderBy('priority')
        .orderBy('createdAt')
        .orderBy('id')
        .execute(),
    );
  }
}
