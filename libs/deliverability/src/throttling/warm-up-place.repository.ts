import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability.schema.js';
import type { WarmUpDay } from './warm-up.js';

/** A day of a domain's warm-up. */
export interface DomainWarmUp {
  readonly domainId: number;
  readonly day: WarmUpDay;
}

/** Counts the mails of new domains on each day of their warm-up, exactly even if several workers count at once. */
@Injectable()
export class WarmUpPlaceRepository {
  constructor(private readonly database: Database) {}

  /** Takes up to `wanted` of the day's mails; resolves to how many were left. */
  take(scope: ProjectScope, { domainId, day }: DomainWarmUp, wanted: number): Promise<number> {
    return this.database.transaction(scope, async () => {
      const counted = { environmentId: scope.environmentId, domainId, startsAt: day.startsAt, mails: 0 };
      // An update without a change locks the row.
      const { mails } = await this.database
        .tables<DeliverabilityTables>()
        .insertInto('deliverability.warm_up_days')
        .values(counted)
        .onConflict((conflict) =>
          conflict
            .columns(['domainId', 'startsAt', 'environmentId'])
            .doUpdateSet((eb) => ({ mails: eb.ref('deliverability.warm_up_days.mails') })),
        )
        .returning('mails')
        .executeTakeFirstOrThrow();
      const taken = Math.max(0, Math.min(wanted, day.cap - mails));
      if (taken > 0) await this.#add(scope, { domainId, day }, taken);
      return taken;
    });
  }

  /** Gives back the places of mails that were not put on the wire. */
  async giveBack(scope: ProjectScope, { domainId, day }: DomainWarmUp, places: number): Promise<void> {
    await this.#add(scope, { domainId, day }, -places);
  }

  async #add(scope: ProjectScope, { domainId, day }: DomainWarmUp, places: number): Promise<void> {
    await this.database.transaction(scope, () =>
      this.database
        .tables<DeliverabilityTables>()
        .updateTable('deliverability.warm_up_days')
        .set({ mails: sql`greatest(mails + ${places}, 0)` })
        .where('environmentId', '=', scope.environmentId)
        .where('domainId', '=', domainId)
        .where('startsAt', '=', day.startsAt)
        .execute(),
    );
  }
}
