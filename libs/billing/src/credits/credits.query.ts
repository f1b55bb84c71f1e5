import { Injectable } from '@nestjs/common';
import { offsetOf, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
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

/** Reads a tenant's AI credits. */
@Injectable()
export class CreditsQuery {
  constructor(private readonly database: Database) {}

  balance(scope: ProjectScope): Promise<CreditBalance> {
    return this.database.transaction(scope, async () => {
      const account = await this.#account(scope);
      if (account === undefined) return { balance: 0, creditsDepleted: true, lastUpdatedAt: null };
      const { balance, depletedAt, updatedAt } = account;
      return { balance, creditsDepleted: balance === 0 || depletedAt !== null, lastUpdatedAt: updatedAt };
    });
  }

  /** Newest first. The rows are numbered without a gap, so a page is a range of numbers and the last one is the total. */
  transactions(scope: ProjectScope, request: PageRequest): Promise<Page<CreditTransaction>> {
    return this.database.list(scope, async () => {
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

  #account({ tenantId }: ProjectScope) {
    return this.database
      .tables<BillingTables>()
      .selectFrom('billing.credit_accounts')
      .select(['balance', 'depletedAt', 'updatedAt', 'transactions'])
      .where('tenantId', '=', tenantId)
      .executeTakeFirst();
  }
}
