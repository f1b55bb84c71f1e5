import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { WarmUpDay } from './warm-up.js';

/** A day of a domain's warm-up. */
export interface DomainWarmUp {
  readonly domainId: number;
  readonly day: WarmUpDay;
}

/** Counts the mails that new domains begin on the days of their warm-up: exact, whoever counts at once. */
@Injectable()
export class WarmUpPlaces {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Takes up to `wanted` of the day's mails; resolves to how many were left. */
  take(scope: ProjectScope, { domainId, day }: DomainWarmUp, wanted: number): Promise<number> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ mails: number }>`
        insert into deliverability.warm_up_days as w (environment_id, domain_id, starts_at, mails)
        values (${scope.environmentId}, ${domainId}, ${day.startsAt}, 0)
        on conflict (domain_id, starts_at) do update set mails = w.mails returning w.mails
      `.execute(db);
      const taken = Math.max(0, Math.min(wanted, day.cap - (rows[0]?.mails ?? 0)));
      if (taken > 0) await this.#add(scope, { domainId, day }, taken);
      return taken;
    });
  }

  /** Gives places back of mails that were not put on the wire. */
  async giveBack(scope: ProjectScope, { domainId, day }: DomainWarmUp, places: number): Promise<void> {
    await this.#add(scope, { domainId, day }, -places);
  }

  #add(scope: ProjectScope, { domainId, day }: DomainWarmUp, places: number): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update deliverability.warm_up_days set mails = greatest(mails + ${places}, 0)
        where environment_id = ${scope.environmentId} and domain_id = ${domainId} and starts_at = ${day.startsAt}
      `.execute(db);
    });
  }
}
