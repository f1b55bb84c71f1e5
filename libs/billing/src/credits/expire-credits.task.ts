import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { Database, drain, PeriodicTask } from '#platform';
import type { BillingTables } from '../billing-tables.js';

const AT_ONCE = 500;

/** Ends monthly credits whose month is over, and gives back what was set aside for work that never ended. */
@Injectable()
export class ExpireCredits extends PeriodicTask {
  override readonly name = 'expire-credits';
  override readonly everyMs = 60_000;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    await drain(AT_ONCE, () => this.database.system(() => this.#returnAbandoned()));
    await drain(AT_ONCE, () => this.database.system(() => this.#endMonths()));
  }

  /** In the order of the tenants, so that two workers cannot lock each other out. */
  async #returnAbandoned(): Promise<number> {
    const now = this.clock.now();
    const tables = this.database.tables<BillingTables>();
    const abandoned = tables
      .selectFrom('billing.credit_reservations')
      .select(['id', 'tenantId'])
      .where('expiresAt', '<=', now)
      .orderBy('tenantId')
      .orderBy('id')
      .limit(AT_ONCE);
    const rows = await tables
      .selectFrom(abandoned.as('r'))
      .select((eb) =>
        eb
          .fn('billing.settle_credits', [
            'r.id',
            'r.tenantId',
            eb.val(0),
            eb.val('The work did not come to its end'),
            eb.val(now),
          ])
          .as('settled'),
      )
      .execute();
    return rows.length;
  }

  async #endMonths(): Promise<number> {
    const now = this.clock.now();
    const tables = this.database.tables<BillingTables>();
    const over = tables
      .selectFrom('billing.credit_accounts')
      .select('tenantId')
      .where('monthly', '>', 0)
      .where('monthlyUntil', '<=', now)
      .orderBy('tenantId')
      .limit(AT_ONCE);
    const rows = await tables
      .selectFrom(over.as('a'))
      .select((eb) => eb.fn('billing.lock_credits', ['a.tenantId', eb.val(now)]).as('account'))
      .execute();
    return rows.length;
  }
}
