import { Injectable } from '@nestjs/common';
import { TenantsQuery } from '#access';
import { NotFoundError } from '#kernel';
import { Database, publish } from '#platform';
import { InvoiceIssuing } from '../invoices/invoice-issuing.service.js';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import { billingPeriod } from './billing-period.js';
import { StripeCancellations } from './stripe-cancellations.repository.js';
import type { SubscriptionAccount } from './subscription-account.js';
import { SubscriptionPeriodStarted } from './subscription.events.js';
import { allowsSending } from './subscription-status.js';
import type { Subscription } from './subscription.js';

/** A subscription in the middle of a change, which the open transaction keeps from others. */
export interface OpenSubscription {
  readonly subscription: Subscription;
  readonly account: SubscriptionAccount;
  readonly now: Date;
}

/** What follows from a change: invoices, what a payment provider is told, and the month that others hear of. */
@Injectable()
export class SubscriptionEffects {
  constructor(
    private readonly database: Database,
    private readonly invoices: InvoiceRepository,
    private readonly issuing: InvoiceIssuing,
    private readonly cancellations: StripeCancellations,
    private readonly tenants: TenantsQuery,
  ) {}

  /** Does what the account has collected since it was asked last. */
  async apply({ account, subscription, now }: OpenSubscription): Promise<void> {
    const { id: subscriptionId, tenantId, externalId } = subscription;
    for (const effect of account.takeEffects()) {
      if (effect.kind === 'write-off') await this.invoices.writeOff(subscriptionId, now);
      if (effect.kind === 'end-elsewhere' && externalId !== null)
        await this.cancellations.request({ externalId, tenantId }, now);
      if (effect.kind !== 'invoice') continue;
      const tenant = await this.tenants.find(tenantId);
      if (tenant === null) throw new NotFoundError();
      const { reason, currency, lines } = effect;
      const parties = { tenantId, tenantKey: tenant.tenantKey, buyer: subscription.buyerOf(tenant) };
      await this.issuing.issue({ ...parties, subscriptionId, reason, currency, lines }, now);
    }
  }

  /** Tells of a month that has begun, or of more AI credits in it; false while there is no project to tell. */
  async announce({ account, subscription, now }: OpenSubscription): Promise<boolean> {
    const { status, anchoredAt, terms } = account.state;
    const { aiCredits } = terms;
    const month = billingPeriod(anchoredAt, now).start;
    if (!allowsSending(status) || subscription.isAnnounced(month, aiCredits)) return true;
    const scope = await this.tenants.firstEnvironment(subscription.tenantId);
    if (scope === null) return false;
    const event = { subscriptionId: subscription.id, aiCredits, periodStart: month.toISOString() };
    await publish(this.database, scope, SubscriptionPeriodStarted(event));
    subscription.announce(month, aiCredits);
    return true;
  }
}
