import { Injectable } from '@nestjs/common';
import { DomainValidationError } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { BASE_CURRENCY, type Plan, type PlanTier } from '../plans/plan.js';
import { PlanRepository } from '../plans/plan.repository.js';
import type { BillingInterval } from './billing-period.js';
import { SubscriptionAccount } from './subscription-account.js';
import { SubscriptionAccounts } from './subscription-accounts.service.js';
import { SubscriptionRepository } from './subscription.repository.js';
import type { BuyerDetails } from './subscription.js';
import { type Terms, termsOf } from './terms.js';

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

export type ChangeOutcome = ReturnType<SubscriptionAccount['change']>;

/** What the operator does to subscriptions. */
@Injectable()
export class SubscriptionChanges {
  constructor(
    private readonly database: Database,
    private readonly accounts: SubscriptionAccounts,
    private readonly subscriptions: SubscriptionRepository,
    private readonly plans: PlanRepository,
  ) {}

  /** Puts a tenant on other terms, or on its first. Throws `DomainValidationError` or `InvalidStateError`. */
  async set(tenantId: number, wanted: WantedSubscription): Promise<ChangeOutcome> {
    if (await this.#begin(tenantId, wanted)) return 'begun';
    return this.accounts.change(tenantId, async ({ account, now }) => {
      const terms = await this.termsFor(account.state.terms, wanted);
      return account.change({ terms, trialEndsAt: trialEnd(wanted, now) }, now);
    });
  }

  /** Ends it when the period is over, or at once. Throws `InvalidStateError`. */
  async cancel(tenantId: number, when: 'at-period-end' | 'at-once', reason: string | null): Promise<void> {
    await this.accounts.change(tenantId, ({ account, now }) => account.cancel(when, reason, now));
  }

  /** Whether a payment provider renews it. What ended is nobody's. */
  isPaidElsewhere(tenantId: number): Promise<boolean> {
    return this.database.system(async () => {
      const rows = await this.database
        .tables<BillingTables>()
        .selectFrom('billing.subscriptions')
        .select('id')
        .where('tenantId', '=', tenantId)
        .where('provider', '<>', 'MANUAL')
        .where('status', 'not in', ['CANCELLED', 'EXPIRED'])
        .execute();
      return rows.length > 0;
    });
  }

  /** To whom its next invoices are made out; what is left out stays as it is. */
  async setBuyer(tenantId: number, details: BuyerDetails): Promise<void> {
    await this.accounts.change(tenantId, ({ subscription }) => subscription.setBuyer(details));
  }

  /** False when the tenant has a subscription already. */
  #begin(tenantId: number, wanted: WantedSubscription): Promise<boolean> {
    return this.database.system(async () => {
      if (await this.subscriptions.exists(tenantId)) return false;
      const terms = await this.termsFor(null, wanted);
      return this.accounts.begin(tenantId, (now) =>
        SubscriptionAccount.begin({ terms, trialEndsAt: trialEnd(wanted, now) }, now),
      );
    });
  }

  /** What `wanted` comes to for a tenant with these terms. Throws `DomainValidationError`. */
  async termsFor(current: Terms | null, wanted: WantedSubscription): Promise<Terms> {
    const tier = wanted.tier ?? current?.tier ?? 'FREE';
    const isSameTier = tier === current?.tier;
    const asked = {
      interval: wanted.interval ?? current?.interval ?? 'MONTHLY',
      currency: wanted.currency ?? current?.currency ?? BASE_CURRENCY,
      aiCredits: wanted.aiCredits ?? (isSameTier ? current.aiCredits : null),
    } as const;
    refuseFaults(wanted);
    // Its own version as far as that goes: a price that changed since is for those who come later.
    const own = isSameTier ? await this.plans.ofSubscription(tier, current.planVersionId) : null;
    const terms = own && termsOf(own, asked);
    if (terms !== null) return terms;
    const plan = await this.plans.currentOf(tier);
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
  throw new DomainValidationError({ trialDays: `must be an integer from 1 to ${MAX_TRIAL_DAYS}` });
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
