import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { Clock, DomainValidationError, newId, type ProjectScope } from '#kernel';
import {
  AuditTrail,
  Database,
  done,
  drain,
  enqueue,
  Job,
  type JobResult,
  jobType,
  LOGGER,
  Periodic,
  Publisher,
} from '#platform';
import type { BillingTables } from './billing-tables.js';
import {
  additionFaults,
  type CreditAddition,
  type CreditRequest,
  type CreditReservation,
  type CreditTransaction,
} from './credit.js';
import { TRANSACTION_COLUMNS } from './credits.query.js';
import { UNLIMITED } from './plan.js';
import { billingPeriod } from './subscriptions/billing-period.js';
import { grantMonthlyCredits } from './subscriptions/subscription-accounts.service.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';

/** Warns that a tenant has too few AI credits for a request, or none: once, until there are enough again. */
export const warnOfDepletedCredits = jobType<{ tenantId: number }>('credits.warn_of_depletion', 'billing');

interface Allowance {
  /** Null when unlimited. */
  readonly mostRequests: number | null;
  readonly monthStart: Date;
}

/** Accounts in one transaction. */
const AT_ONCE = 500;

/**
 * Keeps the AI credits of tenants: an append-only ledger whose sum is never below zero under any concurrency. Consumers reserve
 * the highest cost and settle the actual one. Database functions alone may write the account.
 */
@Injectable()
export class CreditsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly subscriptions: SubscriptionsQuery,
    private readonly publisher: Publisher,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Adds credits that do not lapse, or takes some by a negative ADJUSTMENT. Null for a `onceKey` that was there before.
   * Throws `DomainValidationError` (`credits`, `description`), also for more than the balance.
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
        throw new DomainValidationError({ credits: `takes more than there is: the balance is ${balance}` });
      }
      const added = await this.#insert(tenantId, addition);
      AuditTrail.current?.changes({ balance }, { balance: added?.balanceAfter ?? balance });
      return added;
    });
  }

  /**
   * Reserves `credits` (a whole number from 1) for work that begins now, all or none, in the caller's transaction.
   * They go back by themselves unless settled within `heldForMs`.
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
        select outcome, newly_depleted from billing.reserve_credits(${id}, ${scope.tenantId}, ${credits},
          ${referenceId}, ${description}, ${mostRequests}, ${monthStart}, ${now}, ${new Date(now.getTime() + heldForMs)})
      `.execute(this.database.tables());
      const [answer] = rows;
      if (answer === undefined) throw new Error('The reservation was not answered.');
      if (answer.newlyDepleted)
        await enqueue(this.database, scope, warnOfDepletedCredits({ tenantId: scope.tenantId }));
      return answer.outcome === 'reserved'
        ? { reserved: true, id }
        : { reserved: false, lacking: answer.outcome };
    });
  }

  /**
   * Ends a reservation in the caller's transaction with the actual cost; the rest goes back, and more than was reserved is
   * never taken. False when it has ended before.
   */
  async settle(scope: ProjectScope, reservationId: string, cost: number): Promise<boolean> {
    if (!Number.isSafeInteger(cost) || cost < 0)
      throw new RangeError('A cost is a whole number of credits, 0 or more.');
    return this.database.transaction(scope, async () => {
      const about = cost === 0 ? 'Nothing was used' : 'Less was used than was set aside';
      const { rows } = await sql<{ settled: boolean; newlyDepleted: boolean }>`
        select settled, newly_depleted
        from billing.settle_credits(${reservationId}, ${scope.tenantId}, ${cost}, ${about}, ${this.clock.now()})
      `.execute(this.database.tables());
      const [answer] = rows;
      if (answer?.newlyDepleted === true)
        await enqueue(this.database, scope, warnOfDepletedCredits({ tenantId: scope.tenantId }));
      return answer?.settled ?? false;
    });
  }

  /** Warns the operator and the project's webhooks. */
  @Job(warnOfDepletedCredits)
  async warnOfDepletion(scope: ProjectScope, { tenantId }: { tenantId: number }): Promise<JobResult> {
    this.logger.warn({ tenantId }, 'AI credits depleted');
    await this.publisher.publish(scope, { type: 'credits.depleted', data: { balance: 0 } });
    return done;
  }

  @Job(grantMonthlyCredits)
  async grantStartedMonth(
    scope: ProjectScope,
    { aiCredits, periodStart }: Parameters<typeof grantMonthlyCredits>[0],
  ): Promise<JobResult> {
    await this.grantMonth(scope, new Date(periodStart), aiCredits);
    return done;
  }

  /**
   * Brings the month that began at `monthStart` up to `credits`, in the caller's transaction, and returns the granted number.
   * The first grant lets the rest of the month before lapse; a month that is over or was followed by another gets none.
   */
  grantMonth(scope: ProjectScope, monthStart: Date, credits: number): Promise<number> {
    if (!Number.isSafeInteger(credits) || credits < 0)
      throw new RangeError('A month has a whole number of credits.');
    return this.database.transaction(scope, async () => {
      const subscription = await this.subscriptions.ofTenant(scope);
      const { end } = billingPeriod(subscription?.anchoredAt ?? monthStart, monthStart);
      const { rows } = await sql<{ granted: number }>`
        select billing.grant_monthly_credits(${scope.tenantId}, ${credits}, ${monthStart}, ${end}, ${this.clock.now()}) as granted
      `.execute(this.database.tables());
      return rows[0]?.granted ?? 0;
    });
  }

  /** Needs the locked account: nobody adds the same `onceKey` meanwhile. */
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

  /** Ends monthly credits whose month is over, and returns credits reserved for work that never ended. */
  @Periodic('expire-credits', { everyMs: 60_000 })
  async expire(): Promise<void> {
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
