import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, present } from '#platform';
import type { OwnRelay } from './own-relays.query.js';

/** Workers share a relay's rate: each takes places of it, of the coming second at most. */
@Injectable()
export class RelayRates {
  constructor(private readonly database: Database) {}

  /** How many of `wanted` mails may go in the second that begins; at least one each time that one is due. */
  async take({ environmentId, id }: Pick<OwnRelay, 'environmentId' | 'id'>, wanted: number): Promise<number> {
    const { rows } = await this.database.system(() =>
      sql<{ taken: number }>`
        with free as materialized (
          -- What is given out for longer than this rate ever is was given out by a lower one that it had before.
          select rate_per_second as rate, case
            when rate_until > ${present} + (1 + greatest(1, 1 / rate_per_second)) * interval '1 s' then ${present}
            else greatest(rate_until, ${present}) end as since
          from deliverability.relays
          where environment_id = ${environmentId} and id = ${id} and rate_per_second is not null for update
        ), taken as (
          select since, rate, least(${wanted}::int, greatest(
            floor(extract(epoch from ${present} + interval '1 s' - since) * rate),
            case when since <= ${present} then 1 else 0 end))::int as taken
          from free
        ), granted as (
          select taken, since + taken / rate * interval '1 s' as until from taken
        )
        update deliverability.relays r set rate_until = g.until
        from granted g
        where r.environment_id = ${environmentId} and r.id = ${id} and g.taken > 0
        returning g.taken
      `.execute(this.database.tables()),
    );
    return rows[0]?.taken ?? 0;
  }
}
