import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Publisher, Database, environmentOf, publish } from '#platform';
import { ErasedAddresses } from '../addresses/erased-addresses.repository.js';
import { AddressDigests } from '../addresses/address-digests.service.js';
import type { Consent } from '../consents/consent.js';
import { SubscriberErased } from './erasure.events.js';

interface PersonToErase {
  readonly subscriberId: string;
  readonly emailKey: string;
  /** As they were before the erasure revoked them. */
  readonly consents: readonly Consent[];
}

/** Removes one person from the audience's tables. */
@Injectable()
export class ErasureRepository {
  constructor(
    private readonly database: Database,
    private readonly digests: AddressDigests,
    private readonly addresses: ErasedAddresses,
    private readonly publisher: Publisher,
  ) {}

  /**
   * Removes the subscriber with its consents, confirmation requests and events. The consent record stays, without
   * anything that identifies the person, and what the address had left, by its digest. Publishes the erasure.
   */
  async remove(
    scope: ProjectScope,
    { subscriberId, emailKey, consents }: PersonToErase,
    at: Date,
  ): Promise<void> {
    await this.#removeFromImports(scope, emailKey);
    await this.addresses.keep(scope, emailKey, consents, at);
    const tables = this.database.tables();
    await sql`
      delete from audience.subscribers where environment_id = ${scope.environmentId} and id = ${subscriberId}
    `.execute(tables);
    const addressDigest = this.digests.of(scope, emailKey).toString('hex');
    const event = SubscriberErased({ subscriberId, addressDigest, erasedAt: at.toISOString() });
    await publish(this.database, scope, event);
    // Only the id: listeners know the person from earlier events, or not at all.
    await this.publisher.publish(scope, { type: 'subscriber.deleted', data: { id: subscriberId } });
  }

  /**
   * What an import found wrong with the address, and its rows that wait for the worker: they would bring the
   * person back. A row that the worker has in hand at this moment is not waited for.
   */
  async #removeFromImports(scope: ProjectScope, emailKey: string): Promise<void> {
    const tables = this.database.tables();
    await sql`
      delete from audience.import_errors where environment_id = ${environmentOf(scope)} and email_key = ${emailKey}
    `.execute(tables);
    await sql`
      update audience.import_rows r set email_key = null, cells = '[]', fault = 'was erased before it was imported',
        email = null, first_name = null, last_name = null, phone = null, locale = null, time_zone = null,
        custom_fields = null
      from (
        select import_id, row_number from audience.import_rows
        where environment_id = ${environmentOf(scope)} and email_key = ${emailKey} for update skip locked
      ) waiting
      where r.environment_id = ${scope.environmentId} and r.import_id = waiting.import_id and r.row_number = waiting.row_number
    `.execute(tables);
  }
}
