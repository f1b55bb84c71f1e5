import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import { CONFIRMATION_VALID_MS } from '../consents/consent.js';
import type { ConsentOccasion } from '../consents/consent-changes.service.js';
import type { SubscriberStatus } from '../subscribers/subscriber.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import type { Topic } from '../topics/topic.js';
import type { RowRange } from './row-ranges.js';

export interface MadeNewcomers {
  readonly made: number;
  /** Requests to confirm, whose mails are still to be asked for. */
  readonly confirmationIds: readonly string[];
}

/** Subscribers straight from the rows that make some: no row is read but by the server. */
@Injectable()
export class ImportedNewcomers {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SuppressionRepository) private readonly suppressions: SuppressionRepository,
  ) {}

  /**
   * Takes those rows of a range out, as done, that were found to make a subscriber and whose address is nobody's and
   * not suppressed, and makes these with their consents, the consent record and requests to confirm. The addresses
   * are locked.
   */
  make(
    scope: ProjectScope,
    importId: string,
    range: RowRange,
    topics: readonly Topic[],
    occasion: ConsentOccasion,
  ): Promise<MadeNewcomers> {
    return this.database.transaction(scope, async ({ db }) => {
      // While a table grows from nothing, its statistics say that reading all of it is cheap.
      await sql`set local enable_seqscan = off`.execute(db);
      const { rows } = await sql<{ made: number; confirmationIds: string[] | null }>`
        with taken as (${this.#taken(scope, importId, range)}),
          made as (${made(scope, firstStatus(topics), occasion.at)}),
          granted as (${granted(scope, topics, occasion.at)}),
          recorded as (${recorded(scope, occasion)}),
          asked as (${asked(scope, occasion.at)})
        select (select count(*) from made) as made, (select array_agg(id) from asked) as "confirmationIds"
      `.execute(db);
      await sql`set local enable_seqscan to default`.execute(db);
      const { made: quantity, confirmationIds } = rows[0]!;
      return { made: quantity, confirmationIds: confirmationIds ?? [] };
    });
  }

  /** Each look-up is a value of its own, never a join: it must be one step in an index however small a table seems. */
  #taken({ environmentId, ...scope }: ProjectScope, importId: string, { first, last }: RowRange) {
    const isSuppressed = this.suppressions.isSuppressed({ environmentId, ...scope }, sql`r.email_key`);
    return sql`
      delete from audience.import_rows r
      where r.import_id = ${importId} and r.row_number between ${first} and ${last} and r.email is not null
        and (
          select b.id from audience.subscribers b
          where b.environment_id = ${environmentOf({ environmentId })} and b.email_key = r.email_key
        ) is null
        and (${isSuppressed}) is false
      returning r.row_number, r.email, r.email_key, r.first_name, r.last_name, r.phone, r.custom_fields
    `;
  }
}

/** What `audience.derived_status` says of a newcomer once the consents are granted: nobody suppressed is made. */
export function firstStatus(topics: readonly Topic[]): SubscriberStatus {
  return topics.every(({ doubleOptInEnabled }) => doubleOptInEnabled) ? 'PENDING_CONFIRMATION' : 'ACTIVE';
}

function made({ environmentId }: ProjectScope, status: SubscriberStatus, at: Date): RawBuilder<unknown> {
  return sql`
    insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, subscriber_key,
      email, email_key, first_name, last_name, phone, custom_fields)
    select ${environmentId}, 'IMPORT', ${status}, ${at}::timestamptz, ${at}::timestamptz, platform.new_id(), k.key,
      t.email, t.email_key, t.first_name, t.last_name, t.phone, t.custom_fields
    from (select *, row_number() over (order by row_number) as place from taken) t
    join access.next_subscriber_keys((select count(*)::int from taken)) with ordinality k(key, place) using (place)
    returning id, status, created_at
  `;
}

function granted({ environmentId }: ProjectScope, topics: readonly Topic[], at: Date): RawBuilder<unknown> {
  return sql`
    insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, token_expires_at,
      subscribed_at, subscriber_status, subscriber_created_at)
    select m.id, t.id, ${environmentId},
      case when t.double_opt_in then 'PENDING_CONFIRMATION' else 'SUBSCRIBED' end, ${at}::timestamptz,
      case when t.double_opt_in then ${expiryOf(at)}::timestamptz end,
      case when not t.double_opt_in then ${at}::timestamptz end, m.status, m.created_at
    from made m
    cross join unnest(${topics.map(({ id }) => id)}::uuid[],
      ${topics.map(({ doubleOptInEnabled }) => doubleOptInEnabled)}::boolean[]) t(id, double_opt_in)
    returning subscriber_id, topic_id, status
  `;
}

function recorded({ environmentId }: ProjectScope, { at, proof }: ConsentOccasion): RawBuilder<unknown> {
  return sql`
    insert into audience.consent_ledger (id, environment_id, subscriber_id, topic_id, from_status, to_status,
      occurred_at, actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version)
    select platform.new_id(), ${environmentId}, subscriber_id, topic_id, null, status, ${at},
      ${proof.actor}, ${proof.actorId}, ${proof.source}, ${proof.sourceUrl}, ${proof.ipAddress}, ${proof.userAgent},
      ${proof.consentText}, ${proof.formVersion}
    from granted
  `;
}

function asked({ environmentId }: ProjectScope, at: Date): RawBuilder<unknown> {
  return sql`
    insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
    select platform.new_id(), ${environmentId}, subscriber_id, array_agg(topic_id), false, ${at}, ${expiryOf(at)}
    from granted where status = 'PENDING_CONFIRMATION' group by subscriber_id
    returning id
  `;
}

function expiryOf(at: Date): Date {
  return new Date(at.getTime() + CONFIRMATION_VALID_MS);
}
