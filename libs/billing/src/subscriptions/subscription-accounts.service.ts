import { Injectable } from '@nestjs/common';
import { TenantsService } from '#access';
import { Clock, NotFoundError } from '#kernel';
import { Database, enqueue, forEachApart, jobType, Periodic } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import { InvoicesService } from '../invoices/invoices.service.js';
import { billingPeriod } from './billing-period.js';
import { allowsSending, type SubscriptionAccount } from './subscription-account.js';
import type { Subscription } from './subscription.js';
import { SubscriptionRepository } from './subscription.repository.js';

/** Interval of looking for a tenant's first project, which the announcement of a month needs. */
const NO_PROJECT_MS = 600_000;

/**
 * Grants the AI credits of a subscription's month that has begun. Enqueued again for the same `periodStart` after an upgrade in
 * the middle of the month: the difference to the granted credits is due.
 */
export const grantMonthlyCredits = jobType<{
  readonly subscriptionId: number;
  /** Credits of the whole month; 0 when the subscription includes none. */
  readonly aiCredits: number;
  /** ISO 8601. */
  readonly periodStart: string;
}>('credits.grant_month', 'billing');

/** A subscription being changed, locked by the open transaction. */
export interface OpenSubscription {
  readonly subscription: Subscription;
  readonly account: SubscriptionAccount;
  readonly now: Date;
}

/** Changes subscriptions, each in one transaction: first the changes due by now, then the caller's, then its invoices. */
@Injectable()
export class SubscriptionAccountsService {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionRepository,
    private readonly invoices: InvoiceRepository,
    private readonly invoicing: InvoicesService,
    private readonly tenants: TenantsService,
    private readonly clock: Clock,
  ) {}

  /** Runs `work` on the tenant's subscription. Throws `NotFoundError` when it has none. */
  change<T>(tenantId: number, work: (open: OpenSubscription) => Promise<T> | T): Promise<T> {
    return this.database.system(async () => this.#run(await this.#lock(tenantId), work));
  }

  /** Runs `work` on the subscription with this id at the payment provider; false when it is none of ours. */
  changeExternal(externalId: string, work: (open: OpenSubscription) => Promise<void>): Promise<boolean> {
    return this.database.system(async () => {
      const tenantId = await this.subscriptions.tenantOfExternal(externalId);
      if (tenantId !== null) await this.change(tenantId, work);
      return tenantId !== null;
    });
  }

  /** The tenant with this customer id at the payment provider, or null. */
  tenantOfCustomer(externalCustomerId: string): Promise<number | null> {
    return this.database.system(() => this.subscriptions.tenantOfCustomer(externalCustomerId));
  }

  /** Makes the month due whose announcement waits for the tenant's first project. */
  expectProject(tenantId: number): Promise<void> {
    return this.database.system(() => this.subscriptions.lookForProject(tenantId, this.clock.now()));
  }

  /** Gives a tenant its first subscription; false when it has one. */
  begin(tenantId: number, begun: (now: Date) => SubscriptionAccount): Promise<boolean> {
    return this.database.system(async () => {
      const account = begun(this.clock.now());
      if (!(await this.subscriptions.insert(tenantId, account.state))) return false;
      await this.#run({ ...(await this.#lock(tenantId)), account }, () => undefined);
      return true;
    });
  }

  /** Renews, restricts and ends due subscriptions, in one transaction each, so that it can stop anywhere. */
  @Periodic('advance-subscriptions', { everyMs: 10_000 })
  async advanceDue(): Promise<void> {
    await forEachApart(this.#due(), (tenantId) => this.#advance(tenantId), 'subscriptions failed');
  }

  /** Restores a subscription, if it may go on, after one of its invoices was paid or voided. */
  async settle({ account, subscription, now }: OpenSubscription): Promise<void> {
    const isExpired = account.state.status === 'EXPIRED';
    account.settle(
      now,
      await this.invoices.oldestDueAt(subscription.id, isExpired ? ['OPEN', 'UNCOLLECTIBLE'] : ['OPEN']),
    );
  }

  async #lock(tenantId: number): Promise<OpenSubscription> {
    const subscription = await this.subscriptions.lock(tenantId);
    if (subscription === null) throw new NotFoundError();
    return this.#open(subscription);
  }

  async #open(subscription: Subscription): Promise<OpenSubscription> {
    const now = this.clock.now();
    return { subscription, account: await this.subscriptions.accountOf(subscription, now), now };
  }

  /** Tenants with a change due by now, in their order, a page at a time. */
  async *#due(): AsyncGenerator<number> {
    let tenants = await this.#dueAfter(0);
    while (tenants.length > 0) {
      yield* tenants;
      tenants = await this.#dueAfter(tenants.at(-1) ?? 0);
    }
  }

  #dueAfter(tenantId: number): Promise<number[]> {
    return this.database.system(() => this.subscriptions.dueAfter(tenantId, this.clock.now()));
  }

  /** Makes the due changes of a tenant's subscription unless another process has it. */
  async #advance(tenantId: number): Promise<void> {
    await this.database.system(async () => {
      const due = await this.subscriptions.lockDue(tenantId, this.clock.now());
      if (due !== null) await this.#run(await this.#open(due), () => undefined);
    });
  }

  async #run<T>(open: OpenSubscription, work: (open: OpenSubscription) => Promise<T> | T): Promise<T> {
    const { account, subscription, now } = open;
    const before = JSON.stringify(account.state);
    account.advance(now, await this.invoices.oldestDueAt(subscription.id));
    await this.#apply(open);
    const result = await work(open);
    await this.#apply(open);
    const isAnnounced = await this.#announce(open);
    subscription.record(account.state);
    if (JSON.stringify(account.state) !== before) subscription.updatedAt = now;
    const openDueAt = await this.invoices.oldestDueAt(subscription.id);
    await this.subscriptions.save(subscription, nextLook(account, openDueAt, isAnnounced, now));
    return result;
  }

  /** Carries out the collected effects of the account. */
  async #apply({ account, subscription, now }: OpenSubscription): Promise<void> {
    const { id: subscriptionId, tenantId, externalId } = subscription;
    for (const effect of account.takeEffects()) {
      if (effect.kind === 'write-off') await this.invoices.writeOff(subscriptionId, now);
      if (effect.kind === 'end-elsewhere' && externalId !== null)
        await this.#cancelAtProvider(externalId, tenantId, now);
      if (effect.kind !== 'invoice') continue;
      const tenant = await this.tenants.find(tenantId);
      if (tenant === null) throw new NotFoundError();
      const { reason, currency, lines } = effect;
      const parties = { tenantId, tenantKey: tenant.tenantKey, buyer: subscription.buyerOf(tenant) };
      await this.invoicing.issue({ ...parties, subscriptionId, reason, currency, lines }, now);
    }
  }

  /** Writes an outbox row: Stripe may not answer when a subscription expires. */
  async #cancelAtProvider(externalId: string, tenantId: number, requestedAt: Date): Promise<void> {
    await this.database
      .tables<BillingTables>()
      .insertInto('billing.stripe_cancellations')
      .values({ externalId, tenantId, requestedAt })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  /** Announces a month that has begun, or more AI credits in it; false while the tenant has no project. */
  async #announce({ account, subscription, now }: OpenSubscription): Promise<boolean> {
    const { status, anchoredAt, terms } = account.state;
    const { aiCredits } = terms;
    const month = billingPeriod(anchoredAt, now).start;
    if (!allowsSending(status) || subscription.isAnnounced(month, aiCredits)) return true;
    const scope = await this.tenants.firstEnvironment(subscription.tenantId);
    if (scope === null) return false;
    const event = { subscriptionId: subscription.id, aiCredits, periodStart: month.toISOString() };
    await enqueue(this.database, scope, grantMonthlyCredits(event));
    subscription.announce(month, aiCredits);
    return true;
  }
}

/** Time of the next look at a subscription: its next due change, month, or retry of the announcement. */
function nextLook(
  account: SubscriptionAccount,
  openDueAt: Date | null,
  isAnnounced: boolean,
  now: Date,
): Date | null {
  const { status, anchoredAt } = account.state;
  const due = account.nextDueAt(openDueAt);
  if (!allowsSending(status)) return due;
  const month = billingPeriod(anchoredAt, now).end;
  const look = isAnnounced ? month : new Date(Math.min(month.getTime(), now.getTime() + NO_PROJECT_MS));
  return due === null || look < due ? look : due;
}
