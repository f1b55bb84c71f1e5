import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, NotFoundError } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { type Invoice } from '../invoices/invoice.js';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import { BASE_CURRENCY, type Plan, type PlanTier } from '../plan.js';
import { PlanRepository } from '../plan.repository.js';
import type { BillingInterval } from './billing-period.js';
import { SubscriptionAccount } from './subscription-account.js';
import { SubscriptionAccountsService } from './subscription-accounts.service.js';
import type { BuyerDetails } from './subscription.js';
import { SubscriptionRepository } from './subscription.repository.js';
import { type Terms, termsOf } from './terms.js';

const DAY_MS = 86_400_000;
const MAX_TRIAL_DAYS = 365;

/** The operator's wish; parts that are left out stay as they are. */
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

/** The operator's changes of subscriptions and their invoices. */
@Injectable()
export class SubscriptionsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly accounts: SubscriptionAccountsService,
    private readonly subscriptions: SubscriptionRepository,
    private readonly plans: PlanRepository,
    private readonly invoices: InvoiceRepository,
  ) {}

  /** Starts the free plan of a tenant now; a tenant with a subscription keeps that. */
  async startFree(tenantId: number): Promise<void> {
    const now = this.clock.now();
    await this.database.system(() =>
      this.database
        .tables<BillingTables>()
        .insertInto('billing.subscriptions')
        .values((eb) => ({
          tenantId,
          planTier: 'FREE',
          planVersionId: eb.fn<number>('billing.plan_version_of', [eb.val('FREE'), eb.val(null)]),
          status: 'ACTIVE',
          billingInterval: 'MONTHLY',
          anchoredAt: now,
          createdAt: now,
          updatedAt: now,
        }))
        .onConflict((conflict) => conflict.column('tenantId').doNothing())
        .execute(),
    );
  }

  /** Changes a tenant's terms, or begins its first. Throws `DomainValidationError` or `InvalidStateError`. */
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

  /** True while a payment provider renews it; false once it ended. */
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

  /** Changes the buyer of its next invoices; details that are left out stay as they are. */
  async setBuyer(tenantId: number, details: BuyerDetails): Promise<void> {
    await this.accounts.change(tenantId, ({ subscription }) => subscription.setBuyer(details));
  }

  /** Marks an invoice paid: the subscription goes on. Throws `NotFoundError` or `InvalidStateError`. */
  payInvoice(invoiceNumber: string): Promise<void> {
    return this.#endInvoice(invoiceNumber, (invoice, now) => invoice.pay(now));
  }

  /** Voids a mistaken invoice, which keeps its number. Throws `NotFoundError` or `InvalidStateError`. */
  voidInvoice(invoiceNumber: string): Promise<void> {
    return this.#endInvoice(invoiceNumber, (invoice, now) => invoice.void(now));
  }

  async #endInvoice(invoiceNumber: string, end: (invoice: Invoice, now: Date) => void): Promise<void> {
    const tenantId = await this.database.system(() => this.invoices.tenantOf(invoiceNumber));
    if (tenantId === null) throw new NotFoundError();
    await this.accounts.change(tenantId, async (open) => {
      const invoice = await this.invoices.lock(invoiceNumber);
      if (invoice === null) throw new NotFoundError();
      end(invoice, open.now);
      await this.accounts.settle(open);
    });
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

  /** The wanted terms for a tenant with the current ones. Throws `DomainValidationError`. */
  async termsFor(current: Terms | null, wanted: WantedSubscription): Promise<Terms> {
    const tier = wanted.tier ?? current?.tier ?? 'FREE';
    const isSameTier = tier === current?.tier;
    const asked = {
      interval: wanted.interval ?? current?.interval ?? 'MONTHLY',
      currency: wanted.currency ?? current?.currency ?? BASE_CURRENCY,
      aiCredits: wanted.aiCredits ?? (isSameTier ? current.aiCredits : null),
    } as const;
    refuseFaults(wanted);
    // Its own version if it can: a price that changed since is for later subscriptions.
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
