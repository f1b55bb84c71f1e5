import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database, enqueue, jobType, Publisher } from '#platform';
import type { ConsentProof } from './consents/consent.js';
import { ConsentRepository } from './consents/consent.repository.js';
import { SubscriberRepository } from './subscribers/subscriber.repository.js';
import { AddressDigestsService } from './suppressions/address-digests.service.js';
import { ErasedAddressesRepository } from './suppressions/erased-addresses.repository.js';
import { SuppressionRepository } from './suppressions/suppression.repository.js';
import { SuppressionsService, type SuppressionView } from './suppressions/suppressions.service.js';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** All data of the audience about the owner of an address (GDPR Art. 15), as rows to print. */
export interface AudiencePersonalData {
  /** null when there is no such subscriber. */
  readonly subscriber: Readonly<Record<string, unknown>> | null;
  readonly suppression: SuppressionView;
  readonly consents: Rows;
  /** Every change of a consent, oldest first. */
  readonly consentRecord: Rows;
  readonly confirmations: Rows;
  readonly events: Rows;
  readonly segments: Rows;
  /** The errors of imported rows with this address. */
  readonly importErrors: Rows;
}

/**
 * Erases what other contexts have about an erased subscriber. `addressDigest` is the hex of the address's keyed
 * digest (`AddressDigestsService`), for rows with an address but no subscriber; `erasedAt` is ISO 8601.
 */
export const finishErasure = jobType<{
  subscriberId: string;
  addressDigest: string;
  erasedAt: string;
}>('erasures.finish', 'erasures');

/** Reads all data about one person (GDPR Art. 15), and erases people (Art. 17). */
@Injectable()
export class PersonalDataService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly suppressed: SuppressionRepository,
    private readonly suppressions: SuppressionsService,
    private readonly consents: ConsentRepository,
    private readonly addresses: ErasedAddressesRepository,
    private readonly digests: AddressDigestsService,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /** The address need not be a subscriber's: it may be suppressed, or be in the errors of an import. */
  of(scope: ProjectScope, address: EmailAddress): Promise<AudiencePersonalData> {
    return this.database.transaction(scope, async () => {
      const suppression = await this.suppressions.of(scope, address);
      const [subscriber = null] = await this.#rowsOf(subscriberOf(scope, address));
      const importErrors = await this.#rowsOf(importErrorsOf(scope, address));
      const about = { suppression, importErrors, subscriber };
      if (subscriber === null)
        return { ...about, consents: [], consentRecord: [], confirmations: [], events: [], segments: [] };
      const id = String(subscriber['id']);
      return {
        ...about,
        consents: await this.#rowsOf(consentsOf(scope, id)),
        consentRecord: await this.#rowsOf(consentRecordOf(scope, id)),
        confirmations: await this.#rowsOf(confirmationsOf(scope, id)),
        events: await this.#rowsOf(eventsOf(scope, id)),
        segments: await this.#rowsOf(segmentsOf(scope, id)),
      };
    });
  }

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
      await this.suppressed.forgetAddress(scope, key, at);
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

  async #rowsOf(query: RawBuilder<Readonly<Record<string, unknown>>>): Promise<Rows> {
    return (await query.execute(this.database.tables())).rows;
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

const subscriberOf = ({ environmentId }: ProjectScope, { key }: EmailAddress) => sql<Record<string, unknown>>`
  select id, subscriber_key, email, first_name, last_name, phone, locale, time_zone, status,
    source, custom_fields, paused_until, created_at, updated_at
  from audience.subscribers where environment_id = ${environmentId} and email_key = ${key}
`;

const consentsOf = ({ environmentId }: ProjectScope, id: string) => sql<Record<string, unknown>>`
  select t.topic_key, t.name as topic_name, c.status, c.granted_at,
    c.confirmed_at, c.revoked_at, c.token_expires_at
  from audience.consents c join audience.topics t on t.environment_id = c.environment_id and t.id = c.topic_id
  where c.environment_id = ${environmentId} and c.subscriber_id = ${id} order by t.created_at, t.id
`;

const consentRecordOf = ({ environmentId }: ProjectScope, id: string) => sql<Record<string, unknown>>`
  select l.occurred_at, t.topic_key, t.name as topic_name, l.from_status as from,
    l.to_status as to, l.actor, l.actor_id, l.source, l.source_url, l.ip_address,
    l.user_agent, l.consent_text, l.form_version, l.message_id, l.text_locale,
    l.text_version
  from audience.consent_ledger l join audience.topics t on t.environment_id = l.environment_id and t.id = l.topic_id
  where l.environment_id = ${environmentId} and l.subscriber_id = ${id} order by l.position
`;

const confirmationsOf = ({ environmentId }: ProjectScope, id: string) => sql<Record<string, unknown>>`
  select f.id, f.created_at as requested_at, f.expires_at, f.is_repeat,
    array(
      select t.topic_key from audience.topics t
      where t.environment_id = ${environmentId} and t.id = any(f.topic_ids) order by t.created_at, t.id
    ) as topic_keys
  from audience.confirmations f where f.environment_id = ${environmentId} and f.subscriber_id = ${id} order by f.created_at, f.id
`;

const eventsOf = ({ environmentId }: ProjectScope, id: string) => sql<Record<string, unknown>>`
  select id, name, properties, occurred_at, created_at
  from audience.subscriber_events where environment_id = ${environmentId} and subscriber_id = ${id} order by occurred_at, id
`;

const segmentsOf = ({ environmentId }: ProjectScope, id: string) => sql<Record<string, unknown>>`
  select s.segment_key, s.name, s.type, m.added_at
  from audience.segment_members m join audience.segments s on s.environment_id = m.environment_id and s.id = m.segment_id
  where m.environment_id = ${environmentId} and m.subscriber_id = ${id} order by m.added_at, s.id
`;

const importErrorsOf = ({ environmentId }: ProjectScope, { key }: EmailAddress) => sql<
  Record<string, unknown>
>`
  select e.import_id, i.created_at as imported_at, e.row_number as "row", e.email, e.errors
  from audience.import_errors e join audience.imports i on i.environment_id = e.environment_id and i.id = e.import_id
  where e.environment_id = ${environmentId} and e.email_key = ${key} order by i.created_at, e.row_number
`;
