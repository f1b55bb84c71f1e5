import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Sql } from '#platform';
import type { InvoiceParty } from '../invoices/invoice.js';
import { type Plan, type PlanTier, priceIn } from '../plans/plan.js';
import { PlansQuery } from '../plans/plans.query.js';
import { type BillingInterval, billingPeriod } from './billing-period.js';
import type { AccountState } from './account-state.js';
import { SubscriptionAccount } from './subscription-account.js';
import type { SubscriptionStatus } from './subscription.js';
import type { Terms } from './terms.js';

const DUE_AT_ONCE = 500;

/** A subscription that the caller's transaction keeps from others. */
export interface LockedSubscription {
  readonly id: number;
  readonly tenantId: number;
  readonly account: SubscriptionAccount;
  readonly provider: PaymentProviderName;
  readonly externalId: string | null;
  readonly externalCustomerId: string | null;
  /** As far as the operator has said; the tenant's name stands in for the rest. */
  readonly buyer: { readonly [Field in keyof InvoiceParty]: string | null };
  /** The month whose AI credits were announced last, and how many they were. */
  readonly announcedMonth: Date | null;
  readonly announcedCredits: number | null;
}

export type PaymentProviderName = 'MANUAL' | 'STRIPE';

interface Row {
  readonly id: number;
  readonly tenant_id: number;
  readonly status: SubscriptionStatus;
  readonly plan_tier: PlanTier;
  readonly plan_version_id: number | null;
  readonly billing_interval: BillingInterval;
  readonly ai_credits: number | null;
  readonly currency: string;
  readonly pending_plan_tier: PlanTier | null;
  readonly pending_plan_version_id: number;
  readonly pending_billing_interval: BillingInterval;
  readonly pending_ai_credits: number;
  readonly pending_currency: string;
  readonly anchored_at: Date;
  readonly current_period_start: Date | null;
  readonly current_period_end: Date | null;
  readonly trial_ends_at: Date | null;
  readonly cancel_at_period_end: boolean;
  readonly cancelled_at: Date | null;
  readonly cancellation_reason: string | null;
  readonly past_due_since: Date | null;
  readonly restricted_since: Date | null;
  readonly ended_at: Date | null;
  readonly provider: PaymentProviderName;
  readonly external_id: string | null;
  readonly external_customer_id: string | null;
  readonly buyer_name: string | null;
  readonly buyer_address: string | null;
  readonly buyer_tax_id: string | null;
  readonly announced_month: Date | null;
  readonly announced_credits: number | null;
}

interface Wanted {
  readonly interval: BillingInterval;
  /** Null: as few as the plan is sold with. */
  readonly aiCredits: number | null;
  readonly currency: string;
}

/** Reads and writes subscriptions as aggregates, in the caller's transaction of the system. */
@Injectable()
export class SubscriptionRepository {
  constructor(@Inject(PlansQuery) private readonly plans: PlansQuery) {}

  /** The tenant's subscription, kept from others until the transaction ends; null when it has none. */
  async lock(db: Sql, tenantId: number, now: Date): Promise<LockedSubscription | null> {
    const { rows } = await sql<Row>`
      select * from billing.subscriptions where tenant_id = ${tenantId} for update
    `.execute(db);
    return rows[0] === undefined ? null : this.#read(db, rows[0], now);
  }

  /** Tenants after `tenantId` whose subscription time has changed by `now`, some at a time. */
  async dueAfter(db: Sql, tenantId: number, now: Date): Promise<number[]> {
    const { rows } = await sql<{ tenantId: number }>`
      select tenant_id as "tenantId" from billing.subscriptions
      where next_due_at <= ${now} and tenant_id > ${tenantId} order by tenant_id limit ${DUE_AT_ONCE}
    `.execute(db);
    return rows.map((row) => row.tenantId);
  }

  /** The tenant's subscription if it is due still and nobody else has it. */
  async lockDue(db: Sql, tenantId: number, now: Date): Promise<LockedSubscription | null> {
    const { rows } = await sql<Row>`
      select * from billing.subscriptions where tenant_id = ${tenantId} and next_due_at <= ${now}
      for update skip locked
    `.execute(db);
    return rows[0] === undefined ? null : this.#read(db, rows[0], now);
  }

  async exists(db: Sql, tenantId: number): Promise<boolean> {
    const { rows } = await sql`select from billing.subscriptions where tenant_id = ${tenantId}`.execute(db);
    return rows.length > 0;
  }

  /** A new row for a tenant that has none, to be saved next; false when it has one. */
  async insert(db: Sql, tenantId: number, { terms, anchoredAt, status }: AccountState): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into billing.subscriptions (tenant_id, plan_tier, status, billing_interval, anchored_at, created_at, updated_at)
      values (${tenantId}, ${terms.tier}, ${status}, ${terms.interval}, ${anchoredAt}, ${anchoredAt}, ${anchoredAt})
      on conflict (tenant_id) do nothing
    `.execute(db);
    return numAffectedRows === 1n;
  }

  async save(db: Sql, tenantId: number, state: AccountState, nextDueAt: Date | null): Promise<void> {
    const { terms, pending } = state;
    await sql`
      update billing.subscriptions set status = ${state.status}, plan_tier = ${terms.tier},
        plan_version_id = ${terms.planVersionId}, billing_interval = ${terms.interval}, ai_credits = ${terms.aiCredits},
        currency = ${terms.currency}, anchored_at = ${state.anchoredAt}, current_period_start = ${state.period.start},
        current_period_end = ${state.period.end}, trial_ends_at = ${state.trialEndsAt},
        pending_plan_tier = ${pending?.tier ?? null}, pending_plan_version_id = ${pending?.planVersionId ?? null},
        pending_billing_interval = ${pending?.interval ?? null}, pending_ai_credits = ${pending?.aiCredits ?? null},
        pending_currency = ${pending?.currency ?? null}, cancel_at_period_end = ${state.cancelAtPeriodEnd},
        cancelled_at = ${state.cancelledAt}, cancellation_reason = ${state.cancellationReason},
        past_due_since = ${state.pastDueSince}, restricted_since = ${state.restrictedSince}, ended_at = ${state.endedAt},
        provider = ${state.isRenewedElsewhere ? 'STRIPE' : 'MANUAL'},
        next_due_at = coalesce(${nextDueAt}::timestamptz, 'infinity')
      where tenant_id = ${tenantId}
    `.execute(db);
  }

  /** Makes a subscription due of which no month was told yet. */
  async lookForProject(db: Sql, tenantId: number, now: Date): Promise<void> {
    await sql`
      update billing.subscriptions set next_due_at = least(next_due_at, ${now}::timestamptz)
      where tenant_id = ${tenantId} and announced_month is null
    `.execute(db);
  }

  /** Whose subscription a payment provider means; null when it is none of ours. */
  async tenantOfExternal(db: Sql, externalId: string): Promise<number | null> {
    const { rows } = await sql<{ tenantId: number }>`
      select tenant_id as "tenantId" from billing.subscriptions where external_id = ${externalId}
    `.execute(db);
    return rows[0]?.tenantId ?? null;
  }

  async noteCustomer(db: Sql, tenantId: number, externalCustomerId: string): Promise<void> {
    await sql`
      update billing.subscriptions set external_customer_id = ${externalCustomerId} where tenant_id = ${tenantId}
    `.execute(db);
  }

  async noteExternal(db: Sql, tenantId: number, externalId: string): Promise<void> {
    await sql`update billing.subscriptions set external_id = ${externalId} where tenant_id = ${tenantId}`.execute(
      db,
    );
  }

  /** Notes that something about it is other than before. */
  async touch(db: Sql, tenantId: number, now: Date): Promise<void> {
    await sql`update billing.subscriptions set updated_at = ${now} where tenant_id = ${tenantId}`.execute(db);
  }

  /** Notes which month's AI credits were announced. */
  async noteAnnounced(db: Sql, tenantId: number, month: Date, credits: number): Promise<void> {
    await sql`
      update billing.subscriptions set announced_month = ${month}, announced_credits = ${credits}
      where tenant_id = ${tenantId}
    `.execute(db);
  }

  async #read(db: Sql, row: Row, now: Date): Promise<LockedSubscription> {
    return {
      id: row.id,
      tenantId: row.tenant_id,
      account: new SubscriptionAccount(await this.#stateOf(db, row, now)),
      provider: row.provider,
      externalId: row.external_id,
      externalCustomerId: row.external_customer_id,
      buyer: { name: row.buyer_name, address: row.buyer_address, taxId: row.buyer_tax_id },
      announcedMonth: row.announced_month,
      announcedCredits: row.announced_credits,
    };
  }

  async #stateOf(db: Sql, row: Row, now: Date): Promise<AccountState> {
    const { current_period_start: start, current_period_end: end } = row;
    return {
      status: row.status,
      terms: await this.#termsOf(db, row),
      pending: await this.#pendingOf(db, row),
      anchoredAt: row.anchored_at,
      // A row that was made by hand says only where its periods begin.
      period:
        start === null || end === null
          ? billingPeriod(row.anchored_at, now, row.billing_interval)
          : { start, end },
      trialEndsAt: row.trial_ends_at,
      cancelAtPeriodEnd: row.cancel_at_period_end,
      cancelledAt: row.cancelled_at,
      cancellationReason: row.cancellation_reason,
      pastDueSince: row.past_due_since,
      restrictedSince: row.restricted_since,
      endedAt: row.ended_at,
      isRenewedElsewhere: row.provider === 'STRIPE',
    };
  }

  async #termsOf(db: Sql, row: Row): Promise<Terms> {
    const plan = await this.plans.ofSubscription(db, row.plan_tier, row.plan_version_id);
    const { billing_interval: interval, ai_credits: aiCredits, currency } = row;
    return termsOf(plan, { interval, aiCredits, currency }) ?? leastTermsOf(plan, interval, currency);
  }

  async #pendingOf(db: Sql, row: Row): Promise<Terms | null> {
    if (row.pending_plan_tier === null) return null;
    const plan = await this.plans.ofSubscription(db, row.pending_plan_tier, row.pending_plan_version_id);
    const {
      pending_billing_interval: interval,
      pending_ai_credits: aiCredits,
      pending_currency: currency,
    } = row;
    return termsOf(plan, { interval, aiCredits, currency }) ?? leastTermsOf(plan, interval, currency);
  }
}

/** What a plan is sold for; null when it is not sold with so many AI credits or in that currency. */
export function termsOf(plan: Plan, { interval, aiCredits, currency }: Wanted): Terms | null {
  const variant = plan.variants.find(
    (candidate) => candidate.aiCredits === (aiCredits ?? candidate.aiCredits),
  );
  const price = variant?.prices.find((candidate) => candidate.currency === currency);
  if (variant === undefined || price === undefined) return null;
  return {
    tier: plan.tier,
    planVersionId: plan.id,
    planName: plan.name,
    aiCredits: variant.aiCredits,
    interval,
    currency: price.currency,
    priceCents: interval === 'MONTHLY' ? price.monthlyCents : price.yearlyCents,
  };
}

function leastTermsOf(plan: Plan, interval: BillingInterval, currency: string): Terms {
  const [variant] = plan.variants;
  const terms =
    variant === undefined
      ? null
      : termsOf(plan, { interval, aiCredits: null, currency: priceIn(variant, currency).currency });
  if (terms === null) throw new Error(`The plan ${plan.tier} has no price.`);
  return terms;
}
