import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask, type Sql } from '#platform';

const AT_ONCE = 500;

/** Ends monthly credits whose month is over, and gives back what was set aside for work that never ended. */
@Injectable()
export class ExpireCredits extends PeriodicTask {
  override readonly name = 'expire-credits';
  override readonly everyMs = 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    while ((await this.database.system(({ db }) => this.#returnAbandoned(db))) === AT_ONCE);
    while ((await this.database.system(({ db }) => this.#endMonths(db))) === AT_ONCE);
  }

  /** In the order of the tenants, so that two workers cannot lock each other out. */
  async #returnAbandoned(db: Sql): Promise<number> {
    const now = this.clock.now();
    const { rows } = await sql`
      select billing.settle_credits(r.id, r.tenant_id, 0, 'The work did not come to its end', ${now})
      from (select id, tenant_id from billing.credit_reservations where expires_at <= ${now}
        order by tenant_id, id limit ${AT_ONCE}) r
    `.execute(db);
    return rows.length;
  }

  async #endMonths(db: Sql): Promise<number> {
    const now = this.clock.now();
    const { rows } = await sql`
      select billing.lock_credits(a.tenant_id, ${now})
      from (select tenant_id from billing.credit_accounts where monthly > 0 and monthly_until <= ${now}
        order by tenant_id limit ${AT_ONCE}) a
    `.execute(db);
    return rows.length;
  }
}
