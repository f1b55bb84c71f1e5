import { Injectable, Module } from '@nestjs/common';
import {
  AccessModule,
  type ApiKeyView,
  ApiKeysService,
  type CreatedApiKey,
  type CreatedProject,
  type NewApiKey,
  type NewProject,
  ProjectsService,
  type Tenant,
  TenantsService,
} from '#access';
import {
  BillingModule,
  type BuyerDetails,
  type ChangeOutcome,
  PlanLimitsService,
  StripeSubscriptionsService,
  type SubscriptionReport,
  SubscriptionsQuery,
  SubscriptionsService,
  type WantedSubscription,
} from '#billing';
import {
  DomainValidationError,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { AuditTrail, Database } from '#platform';

/** A tenant with the state of its subscription; null while it has none. */
export interface TenantAccount extends Pick<Tenant, 'id' | 'tenantKey' | 'name' | 'createdAt' | 'updatedAt'> {
  readonly planTier: SubscriptionReport['planTier'] | null;
  readonly subscriptionStatus: SubscriptionReport['status'] | null;
}

/** Wanted terms of a subscription; what is left out stays. */
export interface SubscriptionChange extends WantedSubscription {
  readonly buyer?: BuyerDetails;
  readonly provider?: 'MANUAL' | 'STRIPE' | undefined;
}

/** The operator's rules of more than one context, for the command line and the operator's API. */
@Injectable()
export class AccountsService {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantsService,
    private readonly projects: ProjectsService,
    private readonly apiKeys: ApiKeysService,
    private readonly subscriptions: SubscriptionsService,
    private readonly stripe: StripeSubscriptionsService,
    private readonly plans: SubscriptionsQuery,
    private readonly planLimits: PlanLimitsService,
  ) {}

  /** Makes a tenant on the free plan. Throws `DomainValidationError`, `TenantAlreadyExistsError`. */
  async createTenant(wanted: Pick<Tenant, 'tenantKey' | 'name'>): Promise<TenantAccount> {
    const tenant = await this.database.system(async () => {
      const made = await this.tenants.create(wanted);
      await this.subscriptions.startFree(made.id);
      return made;
    });
    return (await this.#accounts([tenant]))[0]!;
  }

  /** Throws `NotFoundError`. */
  async tenant(tenantKey: string): Promise<TenantAccount> {
    return (await this.#accounts([await this.tenants.byKey(tenantKey)]))[0]!;
  }

  /** All tenants, by key. */
  async allTenants(): Promise<TenantAccount[]> {
    return this.#accounts(await this.tenants.list());
  }

  async tenantPage(request: PageRequest): Promise<Page<TenantAccount>> {
    const page = await this.tenants.page(request);
    return { ...page, items: await this.#accounts(page.items) };
  }

  /**
   * Makes a project that the plan of its tenant allows. Throws `DomainValidationError`, `ProjectAlreadyExistsError`,
   * `PlanLimitReachedError`, `NotFoundError`.
   */
  createProject(tenantId: number, wanted: NewProject): Promise<CreatedProject> {
    return this.database.system(async () => {
      await this.planLimits.admitProject(tenantId);
      return this.projects.create(tenantId, wanted);
    });
  }

  /** Makes an API key of an environment. Throws `DomainValidationError`. */
  createApiKey(scope: ProjectScope, wanted: NewApiKey): Promise<CreatedApiKey> {
    return AuditTrail.inEnvironment(scope.environmentId, () => this.apiKeys.create(scope, wanted));
  }

  /** The key that was, and its successor. Throws `NotFoundError`, `InvalidStateError`. */
  rotateApiKey(id: string, overlapHours: number): Promise<CreatedApiKey> {
    return this.#ofKey(id, (scope) => this.apiKeys.rotate(scope, id, overlapHours));
  }

  /** Throws `NotFoundError`. */
  revokeApiKey(id: string): Promise<Date> {
    return this.#ofKey(id, (scope) => this.apiKeys.revoke(scope, id));
  }

  /** Throws `NotFoundError`. */
  apiKey(id: string): Promise<ApiKeyView> {
    return this.#ofKey(id, (scope) => this.apiKeys.get(scope, id));
  }

  /** Throws `NotFoundError` without a subscription. */
  async subscription(tenantId: number): Promise<SubscriptionReport> {
    const report = await this.plans.report(tenantId);
    if (report === null) throw new NotFoundError();
    return report;
  }

  /**
   * Changes the terms: upgrades at once, downgrades when the period ends; and the buyer on its next invoices. One that is paid
   * through Stripe stays there. Throws `DomainValidationError`, `InvalidStateError`.
   */
  async changeSubscription(
    tenantId: number,
    { buyer = {}, provider, ...wanted }: SubscriptionChange,
  ): Promise<ChangeOutcome | 'kept'> {
    const isAtStripe = await this.subscriptions.isPaidElsewhere(tenantId);
    if (isAtStripe && provider === 'MANUAL')
      throw new DomainValidationError({
        provider: 'must be STRIPE: the subscription is paid through Stripe, cancel it there first',
      });
    const isOfStripe = isAtStripe || provider === 'STRIPE';
    if (isOfStripe) this.stripe.refuseIfOff();
    const isKept = Object.values(wanted).every((value) => value === undefined);
    if (isKept && isOfStripe && !isAtStripe)
      throw new DomainValidationError({ tier: 'is required to begin a subscription at Stripe' });
    const change = async () => {
      if (Object.keys(buyer).length > 0) await this.subscriptions.setBuyer(tenantId, buyer);
      if (isKept) return 'kept';
      return (isOfStripe ? this.stripe : this.subscriptions).set(tenantId, wanted);
    };
    // Stripe is asked between transactions.
    return isOfStripe ? change() : this.database.system(change);
  }

  /** Ends it when the period is over, or at once; at Stripe where it is paid. Throws `InvalidStateError`. */
  async cancelSubscription(
    tenantId: number,
    when: 'at-period-end' | 'at-once',
    reason: string | null,
  ): Promise<void> {
    const isAtStripe = await this.subscriptions.isPaidElsewhere(tenantId);
    if (isAtStripe) this.stripe.refuseIfOff();
    await (isAtStripe ? this.stripe : this.subscriptions).cancel(tenantId, when, reason);
  }

  async #ofKey<T>(id: string, work: (scope: ProjectScope) => Promise<T>): Promise<T> {
    const scope = await this.apiKeys.scopeOf(id);
    return AuditTrail.inEnvironment(scope.environmentId, () => work(scope));
  }

  async #accounts(tenants: readonly Tenant[]): Promise<TenantAccount[]> {
    if (tenants.length === 0) return [];
    const plans = await this.plans.plansByTenant(tenants.map(({ id }) => id));
    return tenants.map(({ id, tenantKey, name, createdAt, updatedAt }) => {
      const { planTier = null, status = null } = plans.get(id) ?? {};
      return { id, tenantKey, name, planTier, subscriptionStatus: status, createdAt, updatedAt };
    });
  }
}

/** Tenants, projects, keys and subscriptions, for the operator. */
@Module({
  imports: [AccessModule, BillingModule],
  providers: [AccountsService],
  exports: [AccessModule, AccountsService, BillingModule],
})
export class AccountsModule {}
