import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database, enqueue, jobType, Publisher } from '#platform';
import type { ConsentProof } from './consents/consent.js';
import { ConsentRepository } from './consents/consent.repository.js';
import { SubscriberRepository } from './subscribers/subscriber.repository.js';
import { AddressDigests } from './suppressions/address-digests.service.js';
import { ErasedAddresses } from './suppressions/erased-addresses.repository.js';
import { SuppressionRepository } from './suppressions/suppression.repository.js';

/**
 * Erases what other contexts have about an erased subscriber. `addressDigest` is the hex of the address's keyed
 * digest (`AddressDigests`), for rows with an address but no subscriber; `erasedAt` is ISO 8601.
 */
export const finishErasure = jobType<{
  subscriberId: string;
  addressDigest: string;
  erasedAt: string;
}>('erasures.finish', 'erasures');

/** Erases people (GDPR Art. 17). */
@Injectable()
export class ErasureService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly consents: ConsentRepository,
    private readonly addresses: ErasedAddresses,
    private readonly digests: AddressDigests,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /**
   * Erases the subscriber here at once, in other contexts within seconds (`finishErasure`). By the keyed digest the address
   * stays suppressed and off the topics that it left; the consent record stays, without the person. Throws NotFoundError.
   */
  erase(scope: ProjectScope, { key }: Pick<EmailAddress, 'key'>, by: ConsentProof): Promise<void> {
    return this.subscribers.whileAddressLocked(scope, key, async (subscriberId) => {
      if (subscriberId === null) throw new NotFoundError();
      const at = this.clock.now();
      const before = await this.consents.ofSubscriber(scope, subscriberId);
      await this.consents.change(scope, { subscriberIds: [subscriberId], action: 'revoke' }, by);
      await this.suppressions.forgetAddress(scope, key, at);
      await this.#removeFromImports(scope, key);
      await this.addresses.keep(scope, key, before, at);
      await sql`
        delete from audience.subscribers where environment_id = ${scope.environmentId} and id = ${subscriberId}
      `.execute(this.database.tables());
      const addressDigest = this.digests.of(scope, key).toString('hex');
      const event = finishErasure({ subscriberId, addressDigest, erasedAt: at.toISOString() });
      await enqueue(this.database, scope, event);
      // Only the id: listeners know the person from earlier events, or not at all.
      await this.publisher.publish(scope, { type: 'subscriber.deleted', data: { id: subscriberId } });
    });
  }

  /**
   * Removes the errors that imports found in rows with the address, and empties rows that wait for the worker, which would bring
   * the person back. A row that the worker has in hand at this moment is not waited for.
   */
  async #removeFromImports(scope: ProjectScope, emailKey: string): Promise<void> {
    const tables = this.database.tables();
    await sql`
      delete from audience.import_errors where environment_id = ${scope.environmentId} and email_key = ${emailKey}
    `.execute(tables);
    await sql`
      update audience.import_rows r set email_key = null, cells = '[]', fault = 'was erased before it was imported',
        email = null, first_name = null, last_name = null, phone = null, locale = null, time_zone = null,
        custom_fields = null
      from (
        select import_id, row_number from audience.import_rows
        where environment_id = ${scope.environmentId} and email_key = ${emailKey} for update skip locked
      ) waiting
      where r.environment_id = ${scope.environmentId} and r.import_id = waiting.import_id and r.row_number = waiting.row_number
    `.execute(tables);
  }
}
