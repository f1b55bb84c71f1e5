import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { offsetOf, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from './billing-tables.js';
import type { CreditBalance, CreditTransaction } from './credit.js';

export const TRANSACTION_COLUMNS = [
  'id',
  'type',
  'amount',
  'balanceAfter',
  'referenceId',
  'description',
  'createdAt',
] as const;

/** A stored number of a tenant's credits that differs from its ledger. */
export interface CreditDiscrepancy {
  readonly tenantId: number;
  /** `balance`, `monthly` and `transactions` of the account, or `balanceAfter` of a row. */
  readonly what: 'balance' | 'monthly' | 'transactions' | 'balanceAfter';
  /** Place of the row in the ledger; null for the account. */
  readonly sequence: number | null;
  readonly kept: number;
  /** The sum of the amounts. */
  readonly actual: number;
}

const MOST_DISCREPANCIES = 1_000;

/** Reads a tenant's AI credits. */
@Injectable()
export class CreditsQuery {
  constructor(private readonly database: Database) {}

  balance(scope: ProjectScope): Promise<CreditBalance> {
    return this.database.transaction(scope, () => this.#balance(scope));
  }

  /** The same for the operator. */
  ofTenant(tenantId: number): Promise<CreditBalance> {
    return this.database.system(() => this.#balance({ tenantId }));
  }

  async #balance(tenant: Pick<ProjectScope, 'tenantId'>): Promise<CreditBalance> {
    const account = await this.#account(tenant);
    if (account === undefined) return { balance: 0, creditsDepleted: true, lastUpdatedAt: null };
    const { balance, depletedAt, updatedAt } = account;
    return { balance, creditsDepleted: balance === 0 || depletedAt !== null, lastUpdatedAt: updatedAt };
  }

  /** Newest first. The rows are numbered without a gap, so a page is a range of numbers and the last one is the total. */
  transactions(scope: ProjectScope, request: PageRequest): Promise<Page<CreditTransaction>> {
    return this.database.read(scope, { isList: true }, async () => {
      const totalElements = (await this.#account(scope))?.transactions ?? 0;
      const { size, after } = request;
      const newest = after ? Number(after.place[0]) - 1 : totalElements - offsetOf(request);
      const items = await this.database
        .tables<BillingTables>()
        .selectFrom('billing.credit_transactions')
        .select(TRANSACTION_COLUMNS)
        .where('tenantId', '=', scope.tenantId)
        .where('sequence', '<=', newest)
        .where('sequence', '>', newest - size)
        .orderBy('sequence', 'desc')
        .execute();
      return { items, totalElements, next: newest > size ? [newest - size + 1] : null };
    });
  }

  /** Credits used from `since` on, less what came back since then; never below 0. */
  since(scope: ProjectScope, since: Date): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { sum } = await this.database
        .tables<BillingTables>()
        .selectFrom('billing.credit_transactions')
        .select(({ fn }) => fn.sum('amount').as('sum'))
        .where('tenantId', '=', scope.tenantId)
        .where('type', 'in', ['CONSUMPTION', 'REFUND'])
        .where('createdAt', '>=', since)
        .executeTakeFirstOrThrow();
      // A sum of bigint is numeric, which comes as text.
      return Math.max(0, -Number(sum));
    });
  }

  /** Adds up the ledger anew: the first 1 000 discrepancies over all tenants. Reads all of it, in one snapshot. */
  async discrepancies(): Promise<CreditDiscrepancy[]> {
    return this.database.system(async () => {
      // A template: the builder has no named windows and no rows of values.
      const { rows } = await sql<CreditDiscrepancy>`
        with summed as (
          select tenant_id, sequence, balance_after, sum(amount) over of_tenant as balance,
            row_number() over of_tenant as place, monthly
          from billing.credit_transactions window of_tenant as (partition by tenant_id order by sequence)
        ), totals as (
          select tenant_id, count(*) as transactions, sum(monthly) as monthly,
            (array_agg(balance order by sequence desc))[1] as balance
          from summed group by tenant_id
        )
        select tenant_id, 'balanceAfter' as what, sequence, balance_after as kept, balance::bigint as actual
        from summed where balance_after <> balance or sequence <> place
        union all
        select a.tenant_id, v.what, null, v.kept, v.actual::bigint
        from billing.credit_accounts a left join totals t using (tenant_id)
        cross join lateral (values ('balance', a.balance, coalesce(t.balance, 0)), ('monthly', a.monthly, coalesce(t.monthly, 0)),
          ('transactions', a.transactions, coalesce(t.transactions, 0))) v(what, kept, actual)
        where v.kept <> v.actual
        order by 1, 2, 3 limit ${MOST_DISCREPANCIES}
      `.execute(this.database.tables());
      return rows;
    });
  }

  #account({ tenantId }: Pick<ProjectScope, 'tenantId'>) {
    return this.database
      .tables<BillingTables>()
      .selectFrom('billing.credit_accounts')
      .select(['balance', 'depletedAt', 'updatedAt', 'transactions'])
      .where('tenantId', '=', tenantId)
      .executeTakeFirst();
  }
}
