import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { environmentOf } from '#platform';
import { ErasedAddresses } from '../suppressions/erased-addresses.repository.js';
import type { ChangeContext, FirstConsents } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import type { RowRange } from './row-ranges.js';

/** Creates new subscribers from their rows inside the database, without reading the rows. */
@Injectable()
export class ImportedSubscribers {
  constructor(
    private readonly suppressions: SuppressionRepository,
    private readonly erased: ErasedAddresses,
    private readonly consents: ConsentRepository,
  ) {}

  /**
   * Removes, in the open transaction with the addresses locked, the rows of a range that are valid and whose address is
   * new, not suppressed and no erased subscriber's, and creates their subscribers with consents, consent record and confirmation requests. Returns
   * their number.
   */
  async make(
    scope: ProjectScope,
    importId: string,
    range: RowRange,
    first: FirstConsents,
    context: ChangeContext,
  ): Promise<number> {
    const making = sql`
      with taken as (${this.#taken(scope, importId, range)}), made as (${made(scope, first, context.at)})`;
    const count = sql<{ readonly number: number }>`count(*) as number`;
    return (await this.consents.createSubscribers(scope, making, count, first, context)).number;
  }

  /** Each look-up is a value of its own, never a join: it must be one step in an index however small a table seems. */
  #taken(scope: ProjectScope, importId: string, { first, last }: RowRange) {
    return sql`
      delete from audience.import_rows r
      where r.environment_id = ${scope.environmentId} and r.import_id = ${importId} and r.row_number between ${first} and ${last} and r.email is not null
        and (
          select b.id from audience.subscribers b
          where b.environment_id = ${environmentOf(scope)} and b.email_key = r.email_key
        ) is null
        and (${this.suppressions.isSuppressed(scope, sql`r.email_key`)}) is false
        and (${this.erased.isErased(scope, sql`r.email_key`)}) is false
      returning r.row_number, r.email, r.email_key, r.first_name, r.last_name, r.phone, r.locale,
        r.time_zone, r.custom_fields
    `;
  }
}

function made({ environmentId }: ProjectScope, { status }: FirstConsents, at: Date): RawBuilder<unknown> {
  return sql`
    insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, subscriber_key,
      email, email_key, first_name, last_name, phone, locale, time_zone, custom_fields)
    select ${environmentId}, 'IMPORT', ${status}, ${at}::timestamptz, ${at}::timestamptz, platform.new_id(), k.key,
      t.email, t.email_key, t.first_name, t.last_name, t.phone, t.locale, t.time_zone, t.custom_fields
    from (select *, row_number() over (order by row_number) as place from taken) t
    join access.next_subscriber_keys((select count(*)::int from taken)) with ordinality k(key, place) using (place)
    returning id, status, created_at
  `;
}
