import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError } from '#kernel';
import { Database } from '#platform';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import { billingPeriod } from './billing-period.js';
import type { SubscriptionAccount } from './subscription-account.js';
import { type OpenSubscription, SubscriptionEffects } from './subscription-effects.service.js';
import { SubscriptionRepository } from './subscription.repository.js';
import { allowsSending } from './subscription-status.js';
import type { Subscription } from './subscription.js';

/** How long to wait for a tenant's first project, without which nobody can be told of a new month. */
const NO_PROJECT_MS = 600_000;

/**
 * Changes subscriptions, one at a time and each in one transaction: first all that was due by now, then what is
 * asked for, then its invoices.
 */
@Injectable()
export class SubscriptionAccounts {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionRepository,
    private readonly invoices: InvoiceRepository,
    private readonly effects: SubscriptionEffects,
    private readonly clock: Clock,
  ) {}

  /** Runs `work` on the tenant's subscription. Throws `NotFoundError` when it has none. */
  change<T>(tenantId: number, work: (open: OpenSubscription) => Promise<T> | T): Promise<T> {
    return this.database.system(async () => this.#run(await this.#lock(tenantId), work));
  }

  /** Runs `work` on the subscription that a payment provider calls so; false when it is none of ours. */
  changeExternal(externalId: string, work: (open: OpenSubscription) => Promise<void>): Promise<boolean> {
    return this.database.system(async () => {
      const tenantId = await this.subscriptions.tenantOfExternal(externalId);
      if (tenantId !== null) await this.change(tenantId, work);
      return tenantId !== null;
    });
  }

  /** The tenant that a payment provider knows as this customer, or null. */
  tenantOfCustomer(externalCustomerId: string): Promise<number | null> {
    return this.database.system(() => this.subscriptions.tenantOfCustomer(externalCustomerId));
  }

  /** Has the month told of that waits for the tenant's first project, once that is there. */
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

  /** Tenants after `tenantId` whose subscription time has changed by now, in their order; some at a time. */
  dueAfter(tenantId: number): Promise<number[]> {
    return this.database.system(() => this.subscriptions.dueAfter(tenantId, this.clock.now()));
  }

  /** Does what is due of a tenant's subscription, unless somebody else is at it. */
  async advance(tenantId: number): Promise<void> {
    await this.database.system(async () => {
      const due = await this.subscriptions.lockDue(tenantId, this.clock.now());
      if (due !== null) await this.#run(await this.#open(due), () => undefined);
    });
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

  async #run<T>(open: OpenSubscription, work: (open: OpenSubscription) => Promise<T> | T): Promise<T> {
    const { account, subscription, now } = open;
    const before = JSON.stringify(account.state);
    account.advance(now, await this.invoices.openDueAt(subscription.id));
    await this.effects.apply(open);
    const result = await work(open);
    await this.effects.apply(open);
    const isAnnounced = await this.effects.announce(open);
    subscription.record(account.state);
    if (JSON.stringify(account.state) !== before) subscription.updatedAt = now;
    const openDueAt = await this.invoices.openDueAt(subscription.id);
    await this.subscriptions.save(subscription, nextLook(account, openDueAt, isAnnounced, now));
    return result;
  }
}

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
