import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { DomainValidationError } from '#kernel';
import { Database, type Sql } from '#platform';
import { BASE_CURRENCY, type Plan, type PlanTier } from '../plans/plan.js';
import { PlansQuery } from '../plans/plans.query.js';
import type { BillingInterval } from './billing-period.js';
import { SubscriptionAccount } from './subscription-account.js';
import { SubscriptionAccounts } from './subscription-accounts.service.js';
import { termsOf } from './subscription.repository.js';
import type { Terms } from './terms.js';

const DAY_MS = 86_400_000;
const MAX_TRIAL_DAYS = 365;

/** What the operator asks for; what is left out stays as it is. */
export interface WantedSubscription {
  readonly tier?: PlanTier | undefined;
  readonly interval?: BillingInterval | undefined;
  /** ISO 4217. */
  readonly currency?: string | undefined;
  /** A month. */
  readonly aiCredits?: number | undefined;
  readonly trialDays?: number | undefined;
}

export interface BuyerDetails {
  readonly name?: string | undefined;
  readonly address?: string | undefined;
  readonly taxId?: string | undefined;
}

export type ChangeOutcome = ReturnType<SubscriptionAccount['change']>;

/** What the operator does to subscriptions. */
@Injectable()
export class SubscriptionChanges {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SubscriptionAccounts) private readonly accounts: SubscriptionAccounts,
    @Inject(PlansQuery) private readonly plans: PlansQuery,
  ) {}

  /** Puts a tenant on other terms, or on its first. Throws `DomainValidationError` or `InvalidStateError`. */
  async set(tenantId: number, wanted: WantedSubscription): Promise<ChangeOutcome> {
    if (await this.#begin(tenantId, wanted)) return 'begun';
    return this.accounts.change(tenantId, async ({ account, db, now }) => {
      const terms = await this.termsFor(db, account.state.terms, wanted);
      return account.change({ terms, trialEndsAt: trialEnd(wanted, now) }, now);
    });
  }

  /** Ends it when the period is over, or at once. Throws `InvalidStateError`. */
  async cancel(tenantId: number, when: 'at-period-end' | 'at-once', reason: string | null): Promise<void> {
    await this.accounts.change(tenantId, ({ account, now }) => {
      account.cancel(when, reason, now);
      return Promise.resolve();
    });
  }

  /** Whether a payment provider renews it. What ended is nobody's. */
  isPaidElsewhere(tenantId: number): Promise<boolean> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql`
        select from billing.subscriptions
        where tenant_id = ${tenantId} and provider <> 'MANUAL' and status not in ('CANCELLED', 'EXPIRED')
      `.execute(db);
      return rows.length > 0;
    });
  }

  /** To whom its next invoices are made out; what is left out stays as it is. */
  async setBuyer(tenantId: number, { name, address, taxId }: BuyerDetails): Promise<void> {
    await this.accounts.change(tenantId, async ({ db }) => {
      await sql`
        update billing.subscriptions set buyer_name = coalesce(${name ?? null}, buyer_name),
          buyer_address = coalesce(${address ?? null}, buyer_address), buyer_tax_id = coalesce(${taxId ?? null}, buyer_tax_id)
        where tenant_id = ${tenantId}
      `.execute(db);
    });
  }

  /** False when the tenant has a subscription already. */
  #begin(tenantId: number, wanted: WantedSubscription): Promise<boolean> {
    return this.database.system(async ({ db }) => {
      if (await this.accounts.has(db, tenantId)) return false;
      const terms = await this.termsFor(db, null, wanted);
      return this.accounts.begin(tenantId, (now) =>
        SubscriptionAccount.begin({ terms, trialEndsAt: trialEnd(wanted, now) }, now),
      );
    });
  }

  /** What `wanted` comes to for a tenant with these terms. Throws `DomainValidationError`. */
  async termsFor(db: Sql, current: Terms | null, wanted: WantedSubscription): Promise<Terms> {
    const tier = wanted.tier ?? current?.tier ?? 'FREE';
    const isSameTier = tier === current?.tier;
    const asked = {
      interval: wanted.interval ?? current?.interval ?? 'MONTHLY',
      currency: wanted.currency ?? current?.currency ?? BASE_CURRENCY,
      aiCredits: wanted.aiCredits ?? (isSameTier ? current.aiCredits : null),
    } as const;
    refuseFaults(wanted);
    // Its own version as far as that goes: a price that changed since is for those who come later.
    const own = isSameTier ? await this.plans.ofSubscription(db, tier, current.planVersionId) : null;
    const terms = own && termsOf(own, asked);
    if (terms !== null) return terms;
    const plan = await this.plans.currentOf(db, tier);
    const offered = plan && termsOf(plan, asked);
    if (offered === null) throw new DomainValidationError(faultsOf(plan, asked));
    return offered;
  }
}

function trialEnd({ trialDays }: WantedSubscription, now: Date): Date | null {
  return trialDays === undefined ? null : new Date(now.getTime() + trialDays * DAY_MS);
}

function refuseFaults({ trialDays }: WantedSubscription): void {
  if (
    trialDays === undefined ||
    (Number.isInteger(trialDays) && trialDays > 0 && trialDays <= MAX_TRIAL_DAYS)
  )
    return;
  throw new DomainValidationError({ trialDays: `must be a whole number from 1 to ${MAX_TRIAL_DAYS}` });
}

function faultsOf(
  plan: Plan | null,
  { aiCredits, currency }: { readonly aiCredits: number | null; readonly currency: string },
): Record<string, string> {
  if (plan === null) return { tier: 'is not on offer' };
  const [first] = plan.variants;
  if (aiCredits !== null && !plan.variants.some((variant) => variant.aiCredits === aiCredits)) {
    return { aiCredits: `must be one of ${plan.variants.map((variant) => variant.aiCredits).join(', ')}` };
  }
  const currencies = first?.prices.map((price) => price.currency) ?? [];
  return currencies.includes(currency)
    ? { tier: 'is not on offer' }
    : { currency: `must be one of ${currencies.join(', ')}` };
}
