import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
import { Database, enqueue, jobType, ListOrder, pagesOf, Publisher } from '#platform';
import type { ConsentProof } from './consents/consent.js';
import { ConsentRepository } from './consents/consent.repository.js';
import type { SubscriberRef } from './subscribers/subscriber.js';
import { type OwnedAddress, SubscriberRepository } from './subscribers/subscriber.repository.js';
import { AddressDigestsService } from './suppressions/address-digests.service.js';
import { ErasedAddressesRepository } from './suppressions/erased-addresses.repository.js';
import { SuppressionRepository } from './suppressions/suppression.repository.js';
import { SuppressionsService, type SuppressionView } from './suppressions/suppressions.service.js';

type Row = Readonly<Record<string, unknown>>;

/** Rows to print, in pages that are read when they are asked for: a person's events may be more than memory holds. */
export type RowPages = AsyncIterable<readonly Row[]>;

/** All data of the audience about a person (GDPR Art. 15), lists oldest first. */
export interface AudiencePersonalData {
  readonly owner: OwnedAddress;
  /** null when there is no such subscriber. */
  readonly subscriber: Row | null;
  readonly suppression: SuppressionView;
  readonly consents: RowPages;
  /** Every change of a consent. */
  readonly consentRecord: RowPages;
  readonly confirmations: RowPages;
  /** Keyed by their names. */
  readonly events: RowPages;
  readonly segments: RowPages;
  /** Changes of fields of the last year. */
  readonly fieldChanges: RowPages;
  /** The errors of imported rows with this address. */
  readonly importErrors: RowPages;
}

/** Rows on a page: events have up to 8 KB. */
const PAGE = 500;

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

  /** An address may be nobody's, and be suppressed or in the errors of an import. Throws NotFoundError for another `ref` of nobody. */
  async of(scope: ProjectScope, ref: SubscriberRef): Promise<AudiencePersonalData> {
    const pages = (listed: Listed): RowPages => pagesOf(this.database, scope, { ...listed, size: PAGE });
    const [owner, subscriber, suppression] = await this.database.transaction(scope, async () => {
      const address = await this.subscribers.addressNamed(scope, ref);
      const { rows } = await subscriberOf(scope, address).execute(this.database.tables());
      const person = { value: address.value, key: address.key, subscriberId: rows[0]?.id ?? null };
      return [person, rows[0] ?? null, await this.suppressions.of(scope, address)] as const;
    });
    const id = owner.subscriberId;
    return {
      owner,
      subscriber,
      suppression,
      consents: pages(consentsOf(scope, id)),
      consentRecord: pages(consentRecordOf(scope, id)),
      confirmations: pages(confirmationsOf(scope, id)),
      events: pages(eventsOf(scope, id)),
      segments: pages(segmentsOf(scope, id)),
      fieldChanges: pages(fieldChangesOf(scope, id)),
      importErrors: pages(importErrorsOf(scope, owner.key)),
    };
  }

  /**
   * Erases the subscriber here at once, in other contexts within seconds (`finishErasure`). By the keyed digest the address
   * stays suppressed and off the topics that it left; the consent record stays, without the person. Throws NotFoundError.
   */
  erase(scope: ProjectScope, ref: SubscriberRef, by: ConsentProof): Promise<void> {
    return this.subscribers.whilePersonOwned(scope, ref, async ({ id: subscriberId, key }) => {
      const at = this.clock.now();
      const before = await this.consents.ofSubscriber(scope, subscriberId);
      await this.consents.change(scope, { subscriberIds: [subscriberId], action: 'revoke' }, by);
      const keys = [key, ...(await this.#formerAddresses(scope, subscriberId))];
      await this.suppressed.forgetAddresses(scope, keys, at);
      await this.database.together(...removingFromImports(scope, keys));
      await this.addresses.keep(scope, key, before, at);
      await sql`
        with ids as (
          delete from audience.event_unique_ids u using audience.subscriber_events e
          where e.environment_id = ${scope.environmentId} and e.subscriber_id = ${subscriberId} and e.unique_id is not null
            and u.environment_id = ${scope.environmentId} and u.unique_id = e.unique_id and u.event_id = e.id
          returning u.unique_id
        )
        delete from audience.subscribers where environment_id = ${scope.environmentId} and id = ${subscriberId}
      `.execute(this.database.tables());
      for (const one of keys) {
        const addressDigest = this.digests.of(scope, one).toString('hex');
        const event = finishErasure({ subscriberId, addressDigest, erasedAt: at.toISOString() });
        await enqueue(this.database, scope, event);
      }
      // Only the id: listeners know the person from earlier events, or not at all.
      await this.publisher.publish(scope, { type: 'subscriber.deleted', data: { id: subscriberId } });
    });
  }

  /** The keys of addresses that a person had before, and that are nobody's now. */
  async #formerAddresses(scope: ProjectScope, subscriberId: string): Promise<readonly string[]> {
    const tables = this.database.tables();
    const { rows } = await sql<{ email: string }>`
      select distinct l.address_change->>'from' as email from audience.consent_ledger l
      where l.environment_id = ${scope.environmentId} and l.subscriber_id = ${subscriberId} and l.address_change is not null
    `.execute(tables);
    if (rows.length === 0) return [];
    const addresses = rows.map(({ email }) => parseEmailAddress(email));
    const keys = addresses.flatMap((parsed) => ('address' in parsed ? [parsed.address.key] : []));
    const { rows: owned } = await sql<{ key: string }>`
      select b.email_key as key from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.email_key = any(${keys}::text[])
    `.execute(tables);
    const others = new Set(owned.map(({ key }) => key));
    return keys.filter((key) => !others.has(key));
  }
}

/**
 * Statements that remove the errors that imports found in rows with these addresses, and empty rows that wait for the worker,
 * which would bring the person back. A row that the worker has in hand at this moment is not waited for.
 */
function removingFromImports({ environmentId }: ProjectScope, emailKeys: readonly string[]) {
  const keys = [...emailKeys];
  return [
    sql`
      delete from audience.import_errors where environment_id = ${environmentId} and email_key = any(${keys}::text[])`,
    sql`
      update audience.import_rows r set email_key = null, cells = '[]', fault = 'was erased before it was imported',
        email = null, external_id = null, first_name = null, last_name = null, phone = null, locale = null, time_zone = null,
        custom_fields = null
      from (
        select import_id, row_number from audience.import_rows
        where environment_id = ${environmentId} and email_key = any(${keys}::text[]) for update skip locked
      ) waiting
      where r.environment_id = ${environmentId} and r.import_id = waiting.import_id and r.row_number = waiting.row_number`,
  ];
}

type Listed = { readonly rows: RawBuilder<Row>; readonly order: ListOrder };

const subscriberOf = ({ environmentId }: ProjectScope, { key }: Pick<EmailAddress, 'key'>) => sql<
  Row & { readonly id: string }
>`
  select id, subscriber_key, email, external_id, first_name, last_name, phone, locale, time_zone, status,
    source, custom_fields, metadata, paused_until, created_at, updated_at
  from audience.subscribers where environment_id = ${environmentId} and email_key = ${key}
`;

const consentsOf = ({ environmentId }: ProjectScope, id: string | null): Listed => ({
  rows: sql`
    select t.topic_key, t.name as topic_name, c.status, c.granted_at,
      c.confirmed_at, c.revoked_at, c.subscribed_at, c.token_expires_at
    from audience.consents c join audience.topics t on t.environment_id = c.environment_id and t.id = c.topic_id
    where c.environment_id = ${environmentId} and c.subscriber_id = ${id}
  `,
  order: oldestFirst(['topic_key', 'text']),
});

const consentRecordOf = ({ environmentId }: ProjectScope, id: string | null): Listed => ({
  rows: sql`
    select l.id, l.occurred_at, t.topic_key, t.name as topic_name, l.from_status as from,
      l.to_status as to, l.actor, l.actor_id, l.source, l.source_url, l.ip_address,
      l.user_agent, l.consent_text, l.form_version, l.message_id, l.text_locale,
      l.text_version, l.address_change, l.position
    from audience.consent_ledger l join audience.topics t on t.environment_id = l.environment_id and t.id = l.topic_id
    where l.environment_id = ${environmentId} and l.subscriber_id = ${id}
  `,
  order: oldestFirst(['position', 'bigint']),
});

const confirmationsOf = ({ environmentId }: ProjectScope, id: string | null): Listed => ({
  rows: sql`
    select f.id, f.created_at as requested_at, f.expires_at, f.is_repeat,
      array(
        select t.topic_key from audience.topics t
        where t.environment_id = ${environmentId} and t.id = any(f.topic_ids) order by t.created_at, t.id
      ) as topic_keys
    from audience.confirmations f where f.environment_id = ${environmentId} and f.subscriber_id = ${id}
  `,
  order: oldestFirst(['requested_at', 'timestamptz'], ['id', 'uuid']),
});

/** In the order of the index of a person's events. */
const eventsOf = ({ environmentId }: ProjectScope, id: string | null): Listed => ({
  rows: sql`
    select id, name, properties, unique_id, occurred_at, created_at
    from audience.subscriber_events where environment_id = ${environmentId} and subscriber_id = ${id}
  `,
  order: oldestFirst(['name', 'text'], ['occurred_at', 'timestamptz'], ['id', 'uuid']),
});

const segmentsOf = ({ environmentId }: ProjectScope, id: string | null): Listed => ({
  rows: sql`
    select s.segment_key, s.name, s.type, m.added_at
    from audience.segment_members m join audience.segments s on s.environment_id = m.environment_id and s.id = m.segment_id
    where m.environment_id = ${environmentId} and m.subscriber_id = ${id}
  `,
  order: oldestFirst(['added_at', 'timestamptz'], ['segment_key', 'text']),
});

const fieldChangesOf = ({ environmentId }: ProjectScope, id: string | null): Listed => ({
  rows: sql`
    select id, occurred_at, actor, actor_id, changes from audience.field_changes
    where environment_id = ${environmentId} and subscriber_id = ${id}
  `,
  order: oldestFirst(['occurred_at', 'timestamptz'], ['id', 'uuid']),
});

const importErrorsOf = ({ environmentId }: ProjectScope, emailKey: string): Listed => ({
  rows: sql`
    select e.import_id, i.created_at as imported_at, e.row_number as "row", e.line, e.email, e.errors
    from audience.import_errors e join audience.imports i on i.environment_id = e.environment_id and i.id = e.import_id
    where e.environment_id = ${environmentId} and e.email_key = ${emailKey}
  `,
  order: oldestFirst(['import_id', 'uuid'], ['row', 'bigint']),
});

function oldestFirst(...columns: ConstructorParameters<typeof ListOrder>[0]): ListOrder {
  return new ListOrder(columns, 'asc');
}
