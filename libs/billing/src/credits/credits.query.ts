import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Page, PageRequest, ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AiCreditUsage } from '../usage/usage-sources.js';
import type { CreditBalance, CreditTransaction } from './credit.js';

export const TRANSACTION_COLUMNS = sql`
  id, type, amount, balance_after as "balanceAfter", reference_id as "referenceId", description, created_at as "createdAt"
`;

/** Reads a tenant's AI credits. */
@Injectable()
export class CreditsQuery extends AiCreditUsage {
  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  balance(scope: ProjectScope): Promise<CreditBalance> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CreditBalance>`
        select balance, balance = 0 or depleted_at is not null as "creditsDepleted", updated_at as "lastUpdatedAt"
        from billing.credit_accounts where tenant_id = ${scope.tenantId}
      `.execute(db);
      return rows[0] ?? { balance: 0, creditsDepleted: true, lastUpdatedAt: null };
    });
  }

  /** Newest first. The rows are numbered without a gap, so a page is a range of numbers and the last one is the total. */
  transactions(scope: ProjectScope, { page, size }: PageRequest): Promise<Page<CreditTransaction>> {
    return this.database.transaction(scope, async ({ db }) => {
      const counted = await sql<{ total: number }>`
        select transactions as total from billing.credit_accounts where tenant_id = ${scope.tenantId}
      `.execute(db);
      const totalElements = counted.rows[0]?.total ?? 0;
      const newest = totalElements - page * size;
      const { rows } = await sql<CreditTransaction>`
        select ${TRANSACTION_COLUMNS} from billing.credit_transactions
        where tenant_id = ${scope.tenantId} and sequence <= ${newest} and sequence > ${newest - size}
        order by sequence desc
      `.execute(db);
      return { items: rows, totalElements };
    });
  }

  /** Credits used from `since` on, less what came back since then; never below 0. */
  override since(scope: ProjectScope, since: Date): Promise<number> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ used: number }>`
        select greatest(0, -coalesce(sum(amount), 0))::bigint as used from billing.credit_transactions
        where tenant_id = ${scope.tenantId} and type in ('CONSUMPTION', 'REFUND') and created_at >= ${since}
      `.execute(db);
      return rows[0]?.used ?? 0;
    });
  }
}
