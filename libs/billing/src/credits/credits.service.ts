import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, DomainValidationError, newId, type ProjectScope } from '#kernel';
import { Database, publish } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { UNLIMITED } from '../plans/plan.js';
import { billingPeriod } from '../subscriptions/billing-period.js';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';
import { CreditsDepleted } from './credit.events.js';
import {
  additionFaults,
  type CreditAddition,
  type CreditRequest,
  type CreditReservation,
  type CreditTransaction,
} from './credit.js';
import { TRANSACTION_COLUMNS } from './credits.query.js';

interface Allowance {
  /** Null when unlimited. */
  readonly mostRequests: number | null;
  readonly monthStart: Date;
}

/**
 * The AI credits of tenants: an append-only ledger whose sum is never below zero, however many write at once. Who
 * uses credits reserves what the work may cost at most, and settles what it did cost. Functions of the database keep the
 * account, in templates: the ledger's trigger lets nobody else write it.
 */
@Injectable()
export class CreditsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly subscriptions: SubscriptionsQuery,
  ) {}

  /**
   * Adds credits that stay until they are used, or takes some by a negative ADJUSTMENT. Null when its `onceKey` was
   * there before. Throws `DomainValidationError` (`credits`, `description`), also when less than nothing would be left.
   */
  async add(tenantId: number, addition: CreditAddition): Promise<CreditTransaction | null> {
    const faults = additionFaults(addition);
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    return this.database.system(async () => {
      const { rows } = await sql<{ balance: number }>`
        select balance from billing.lock_credits(${tenantId}, ${this.clock.now()})
      `.execute(this.database.tables());
      const balance = rows[0]?.balance ?? 0;
      if (balance + addition.credits < 0) {
        throw new DomainValidationError({
          credits: `takes more than there is: the balance is ${balance}`,
        });
      }
      return this.#insert(tenantId, addition);
    });
  }

  /**
   * Sets `credits` (a whole number from 1) aside for work that begins now: all of them or none. Joins the caller's
   * transaction. They go back by themselves when nobody settles them within `heldForMs`.
   */
  async reserve(scope: ProjectScope, request: CreditRequest): Promise<CreditReservation> {
    const { credits, referenceId, description, heldForMs } = request;
    if (!Number.isSafeInteger(credits) || credits < 1)
      throw new RangeError('A reservation is a whole number of credits.');
    const now = this.clock.now();
    const { mostRequests, monthStart } = await this.#allowance(scope, now);
    const id = newId();
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ outcome: 'reserved' | 'credits' | 'requests'; newlyDepleted: boolean }>`
        select outcome, newly_depleted as "newlyDepleted" from billing.reserve_credits(${id}, ${scope.tenantId}, ${credits},
          ${referenceId}, ${description}, ${mostRequests}, ${monthStart}, ${now}, ${new Date(now.getTime() + heldForMs)})
      `.execute(this.database.tables());
      const [answer] = rows;
      if (answer === undefined) throw new Error('The reservation was not answered.');
      if (answer.newlyDepleted)
        await publish(this.database, scope, CreditsDepleted({ tenantId: scope.tenantId }));
      return answer.outcome === 'reserved'
        ? { reserved: true, id }
        : { reserved: false, lacking: answer.outcome };
    });
  }

  /**
   * Ends a reservation with what the work has cost; what was set aside beyond it goes back, and more than that is never
   * taken. 0 gives all of it back. Joins the caller's transaction. False when it has ended before.
   */
  async settle(scope: ProjectScope, reservationId: string, cost: number): Promise<boolean> {
    if (!Number.isSafeInteger(cost) || cost < 0)
      throw new RangeError('A cost is a whole number of credits, 0 or more.');
    return this.database.transaction(scope, async () => {
      const about = cost === 0 ? 'Nothing was used' : 'Less was used than was set aside';
      const { rows } = await sql<{ settled: boolean; newlyDepleted: boolean }>`
        select settled, newly_depleted as "newlyDepleted"
        from billing.settle_credits(${reservationId}, ${scope.tenantId}, ${cost}, ${about}, ${this.clock.now()})
      `.execute(this.database.tables());
      const [answer] = rows;
      if (answer?.newlyDepleted === true)
        await publish(this.database, scope, CreditsDepleted({ tenantId: scope.tenantId }));
      return answer?.settled ?? false;
    });
  }

  /** The caller has the account: nobody adds the same `onceKey` meanwhile. */
  async #insert(tenantId: number, addition: CreditAddition): Promise<CreditTransaction | null> {
    const { type, credits: amount, referenceId = null, description = null, onceKey = null } = addition;
    const tables = this.database.tables<BillingTables>();
    const known = tables
      .selectFrom('billing.credit_transactions')
      .select('id')
      .where('tenantId', '=', tenantId)
      .where('onceKey', '=', onceKey);
    if (onceKey !== null && (await known.executeTakeFirst()) !== undefined) return null;
    const createdAt = this.clock.now();
    return tables
      .insertInto('billing.credit_transactions')
      .values({ id: newId(), tenantId, type, amount, referenceId, description, onceKey, createdAt })
      .returning(TRANSACTION_COLUMNS)
      .executeTakeFirstOrThrow();
  }

  async #allowance(scope: ProjectScope, now: Date): Promise<Allowance> {
    const subscription = await this.subscriptions.ofTenant(scope);
    if (subscription === null) return { mostRequests: 0, monthStart: now };
    const most = subscription.limits.maxAiRequestsPerMonth;
    return {
      mostRequests: most === UNLIMITED ? null : most,
      monthStart: billingPeriod(subscription.anchoredAt, now).start,
    };
  }
}
