import { Inject, Injectable } from '@nestjs/common';
import { type Tenant, TenantsQuery } from '#access';
import { Clock, NotFoundError } from '#kernel';
import { Database, publish, type Sql } from '#platform';
import { InvoiceIssuing } from '../invoices/invoice-issuing.service.js';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import { StripeCancellations } from '../stripe/stripe-cancellations.repository.js';
import { billingPeriod } from './billing-period.js';
import type { AccountState, Effect } from './account-state.js';
import { SubscriptionAccount } from './subscription-account.js';
import { SubscriptionPeriodStarted } from './subscription.events.js';
import { type LockedSubscription, SubscriptionRepository } from './subscription.repository.js';
import { allowsSending } from './subscription.js';

/** How long to wait for a tenant's first project, without which nobody can be told of a new month. */
const NO_PROJECT_MS = 600_000;

/** A subscription in the middle of a change. */
export interface OpenSubscription extends LockedSubscription {
  readonly db: Sql;
  readonly now: Date;
}

/**
 * Changes subscriptions, one at a time and each in one transaction: first all that was due by now, then what is
 * asked for, then its invoices.
 */
@Injectable()
export class SubscriptionAccounts {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SubscriptionRepository) private readonly subscriptions: SubscriptionRepository,
    @Inject(InvoiceRepository) private readonly invoices: InvoiceRepository,
    @Inject(InvoiceIssuing) private readonly issuing: InvoiceIssuing,
    @Inject(TenantsQuery) private readonly tenants: TenantsQuery,
    @Inject(StripeCancellations) private readonly cancellations: StripeCancellations,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Runs `work` on the tenant's subscription. Throws `NotFoundError` when it has none. */
  change<T>(tenantId: number, work: (open: OpenSubscription) => Promise<T>): Promise<T> {
    return this.database.system(async ({ db }) => {
      const now = this.clock.now();
      const locked = await this.subscriptions.lock(db, tenantId, now);
      if (locked === null) throw new NotFoundError();
      return this.#run({ ...locked, db, now }, work);
    });
  }

  /** Has the month told of that waits for the tenant's first project, once that is there. */
  expectProject(tenantId: number): Promise<void> {
    return this.database.system(({ db }) =>
      this.subscriptions.lookForProject(db, tenantId, this.clock.now()),
    );
  }

  has(db: Sql, tenantId: number): Promise<boolean> {
    return this.subscriptions.exists(db, tenantId);
  }

  /** Gives a tenant its first subscription; false when it has one. */
  begin(tenantId: number, begun: (now: Date) => SubscriptionAccount): Promise<boolean> {
    return this.database.system(async ({ db }) => {
      const now = this.clock.now();
      const account = begun(now);
      if (!(await this.subscriptions.insert(db, tenantId, account.state))) return false;
      const locked = await this.subscriptions.lock(db, tenantId, now);
      if (locked === null) throw new NotFoundError();
      await this.#run({ ...locked, account, db, now }, () => Promise.resolve());
      return true;
    });
  }

  /** Tenants after `tenantId` whose subscription time has changed by now, in their order; some at a time. */
  dueAfter(tenantId: number): Promise<number[]> {
    return this.database.system(({ db }) => this.subscriptions.dueAfter(db, tenantId, this.clock.now()));
  }

  /** Does what is due of a tenant's subscription, unless somebody else is at it. */
  async advance(tenantId: number): Promise<void> {
    await this.database.system(async ({ db }) => {
      const now = this.clock.now();
      const locked = await this.subscriptions.lockDue(db, tenantId, now);
      if (locked !== null) await this.#run({ ...locked, db, now }, () => Promise.resolve());
    });
  }

  async #run<T>(open: OpenSubscription, work: (open: OpenSubscription) => Promise<T>): Promise<T> {
    const { account, db, id, tenantId, now } = open;
    const tenant = await this.tenants.find(tenantId);
    if (tenant === null) throw new NotFoundError();
    const before = account.state;
    account.advance(now, await this.invoices.openDueAt(db, id));
    await this.#apply(open, tenant, account.takeEffects());
    const result = await work(open);
    await this.#apply(open, tenant, account.takeEffects());
    const isAnnounced = await this.#announce(open);
    const openDueAt = await this.invoices.openDueAt(db, id);
    await this.subscriptions.save(
      db,
      tenantId,
      account.state,
      nextLook(account, openDueAt, isAnnounced, now),
    );
    if (!isSame(before, account.state)) await this.subscriptions.touch(db, tenantId, now);
    return result;
  }

  async #apply(open: OpenSubscription, tenant: Tenant, effects: readonly Effect[]): Promise<void> {
    const { db, id, tenantId, now, buyer, externalId } = open;
    for (const effect of effects) {
      if (effect.kind === 'write-off') await this.invoices.writeOff(db, id, now);
      if (effect.kind === 'end-elsewhere' && externalId !== null)
        await this.cancellations.request(db, { externalId, tenantId }, now);
      if (effect.kind !== 'invoice') continue;
      const { reason, currency, lines } = effect;
      const party = { name: buyer.name ?? tenant.name, address: buyer.address, taxId: buyer.taxId };
      const { tenantKey } = tenant;
      await this.issuing.issue(
        db,
        { tenantId, tenantKey, subscriptionId: id, buyer: party, reason, currency, lines },
        now,
      );
    }
  }

  /** Tells of a month that has begun, or of more AI credits in it; false while there is no project to tell. */
  async #announce(open: OpenSubscription): Promise<boolean> {
    const { account, db, id, tenantId, now, announcedMonth, announcedCredits } = open;
    const { status, anchoredAt, terms } = account.state;
    const month = billingPeriod(anchoredAt, now).start;
    const isKnown =
      announcedMonth?.getTime() === month.getTime() && (announcedCredits ?? 0) >= terms.aiCredits;
    if (!allowsSending(status) || isKnown) return true;
    const scope = await this.tenants.firstEnvironment(tenantId);
    if (scope === null) return false;
    const { aiCredits } = terms;
    const event = { subscriptionId: id, aiCredits, periodStart: month.toISOString() };
    await publish(db, scope, SubscriptionPeriodStarted(event));
    await this.subscriptions.noteAnnounced(db, tenantId, month, aiCredits);
    return true;
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

function isSame(before: AccountState, after: AccountState): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}
