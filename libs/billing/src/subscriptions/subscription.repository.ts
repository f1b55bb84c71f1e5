import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { PlanRepository } from '../plan.repository.js';
import { type AccountState, SubscriptionAccount } from './subscription-account.js';
import { Subscription } from './subscription.js';
import { nearestTermsOf, type Terms } from './terms.js';

const DUE_AT_ONCE = 500;

/** Reads and writes subscriptions in the open transaction of the system. */
@Injectable()
export class SubscriptionRepository {
  constructor(
    private readonly database: Database,
    private readonly plans: PlanRepository,
  ) {}

  /** The tenant's subscription, locked until the transaction ends; null when it has none. */
  lock(tenantId: number): Promise<Subscription | null> {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    return this.database.em.findOne(Subscription, { tenantId }, { lockMode, refresh: true });
  }

  /** The tenant's subscription, locked, if it is still due and nobody else has it. */
  async lockDue(tenantId: number, now: Date): Promise<Subscription | null> {
    const due = await this.#subscriptions
      .select('id')
      .where('tenantId', '=', tenantId)
      .where('nextDueAt', '<=', now)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst();
    return due === undefined ? null : this.lock(tenantId);
  }

  /** Tenants after `tenantId` with a change due by `now`, in their order, a page at a time. */
  async dueAfter(tenantId: number, now: Date): Promise<number[]> {
    const rows = await this.#subscriptions
      .select('tenantId')
      .where('nextDueAt', '<=', now)
      .where('tenantId', '>', tenantId)
      .orderBy('tenantId')
      .limit(DUE_AT_ONCE)
      .execute();
    return rows.map((row) => row.tenantId);
  }

  async exists(tenantId: number): Promise<boolean> {
    const rows = await this.#subscriptions.select('id').where('tenantId', '=', tenantId).execute();
    return rows.length > 0;
  }

  /** The tenant of a payment provider's subscription; null when it is none of ours. */
  async tenantOfExternal(externalId: string): Promise<number | null> {
    const row = await this.#subscriptions
      .select('tenantId')
      .where('externalId', '=', externalId)
      .executeTakeFirst();
    return row?.tenantId ?? null;
  }

  async tenantOfCustomer(externalCustomerId: string): Promise<number | null> {
    const row = await this.#subscriptions
      .select('tenantId')
      .where('externalCustomerId', '=', externalCustomerId)
      .executeTakeFirst();
    return row?.tenantId ?? null;
  }

  /** A new row for a tenant that has none, to be saved next; false when it has one. */
  async insert(tenantId: number, { terms, anchoredAt, status }: AccountState): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.database
      .tables<BillingTables>()
      .insertInto('billing.subscriptions')
      .values({
        tenantId,
        planTier: terms.tier,
        status,
        billingInterval: terms.interval,
        anchoredAt,
        createdAt: anchoredAt,
        updatedAt: anchoredAt,
      })
      .onConflict((conflict) => conflict.column('tenantId').doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === 1n;
  }

  /** Writes the changes, with the time of the next change that time alone brings; null: never. */
  async save({ id }: Subscription, nextDueAt: Date | null): Promise<void> {
    await this.database.em.flush();
    await this.database
      .tables<BillingTables>()
      .updateTable('billing.subscriptions')
      .set({ nextDueAt: nextDueAt ?? sql`'infinity'` })
      .where('id', '=', id)
      .execute();
  }

  /** Makes a subscription due whose first month was not announced yet. */
  async lookForProject(tenantId: number, now: Date): Promise<void> {
    await this.database
      .tables<BillingTables>()
      .updateTable('billing.subscriptions')
      .set((eb) => ({ nextDueAt: eb.fn('least', ['nextDueAt', eb.val(now)]) }))
      .where('tenantId', '=', tenantId)
      .where('announcedMonth', 'is', null)
      .execute();
  }

  /** The account with the terms of its plans. */
  async accountOf(subscription: Subscription, now: Date): Promise<SubscriptionAccount> {
    const { planTier, planVersionId, billingInterval: interval, aiCredits, currency } = subscription;
    const plan = await this.plans.ofSubscription(planTier, planVersionId);
    const terms = nearestTermsOf(plan, { interval, aiCredits, currency });
    return new SubscriptionAccount(
      subscription.stateWith(terms, await this.#pendingOf(subscription, terms), now),
    );
  }

  async #pendingOf(subscription: Subscription, current: Terms): Promise<Terms | null> {
    const { pendingPlanTier, pendingPlanVersionId, pendingAiCredits: aiCredits } = subscription;
    if (pendingPlanTier === null) return null;
    const plan = await this.plans.ofSubscription(pendingPlanTier, pendingPlanVersionId);
    const interval = subscription.pendingBillingInterval ?? current.interval;
    const currency = subscription.pendingCurrency ?? current.currency;
    return nearestTermsOf(plan, { interval, aiCredits, currency });
  }

  get #subscriptions() {
    return this.database.tables<BillingTables>().selectFrom('billing.subscriptions');
  }
}
