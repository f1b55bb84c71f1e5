import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '#platform';

/** A number of a tenant's credits that is not what its ledger says. */
export interface CreditDiscrepancy {
  readonly tenantId: number;
  /** `balance`, `monthly` and `transactions` of the account, or `balanceAfter` of a row. */
  readonly what: 'balance' | 'monthly' | 'transactions' | 'balanceAfter';
  /** Of a row, its place in the ledger. */
  readonly sequence: number | null;
  readonly kept: number;
  /** What the amounts add up to. */
  readonly actual: number;
}

const AT_MOST = 1_000;

/** Adds up the credit ledger anew. */
@Injectable()
export class CreditCheckQuery {
  constructor(private readonly database: Database) {}

  /** The first 1 000 discrepancies over all tenants; none when all is well. Reads the whole ledger, in one snapshot. */
  async discrepancies(): Promise<CreditDiscrepancy[]> {
    return this.database.system(async () => {
      // A template: the builder has no named windows and no rows of values.
      const { rows } = await sql<CreditDiscrepancy>`
        with summed as (
          select tenant_id, sequence, balance_after, sum(amount) over of_tenant as balance,
            row_number() over of_tenant as place, monthly
          from billing.credit_transactions window of_tenant as (partition by tenant_id order by sequence)
        ), totals as (
          select tenant_id, count(*) as transactions, sum(monthly) as monthly, (array_agg(balance order by sequence desc))[1] as balance
          from summed group by tenant_id
        )
        select tenant_id as "tenantId", 'balanceAfter' as what, sequence, balance_after as kept, balance::bigint as actual
        from summed where balance_after <> balance or sequence <> place
        union all
        select a.tenant_id, v.what, null, v.kept, v.actual::bigint
        from billing.credit_accounts a left join totals t using (tenant_id)
        cross join lateral (values ('balance', a.balance, coalesce(t.balance, 0)), ('monthly', a.monthly, coalesce(t.monthly, 0)),
          ('transactions', a.transactions, coalesce(t.transactions, 0))) v(what, kept, actual)
        where v.kept <> v.actual
        order by 1, 2, 3 limit ${AT_MOST}
      `.execute(this.database.tables());
      return rows;
    });
  }
}
