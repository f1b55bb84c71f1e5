import { Inject, Injectable } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { Clock } from '#kernel';
import { describeError, forEachApart, PeriodicTask } from '#platform';
import {
  type StripeCancellation,
  StripeCancellations,
} from '../subscriptions/stripe-cancellations.repository.js';
import { SubscriptionAccounts } from '../subscriptions/subscription-accounts.service.js';
import { unlessGone } from './stripe-api.service.js';
import { STRIPE } from './stripe-client.provider.js';

/** Cancels at Stripe what expired here. What was paid meanwhile goes on. */
@Injectable()
export class CancelExpiredAtStripe extends PeriodicTask {
  override readonly name = 'cancel-expired-at-stripe';
  override readonly everyMs = 10_000;

  constructor(
    @Inject(STRIPE) private readonly stripe: Stripe | null,
    private readonly cancellations: StripeCancellations,
    private readonly accounts: SubscriptionAccounts,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const { stripe } = this;
    if (stripe === null) return;
    await forEachApart(
      await this.cancellations.due(),
      async (cancellation) => {
        try {
          await this.#cancel(stripe, cancellation);
        } catch (error) {
          await this.cancellations.postpone(cancellation, describeError(error), this.clock.now());
          throw error;
        }
      },
      'subscriptions were not cancelled at Stripe',
    );
  }

  /** While our row is locked, so that a payment that is noted now comes before it or after it. */
  async #cancel(stripe: Stripe, cancellation: StripeCancellation): Promise<void> {
    await this.accounts.change(cancellation.tenantId, async ({ account, subscription }) => {
      if (!(await this.cancellations.remove(cancellation))) return;
      const isCurrent = subscription.externalId === cancellation.externalId;
      if (isCurrent && account.state.status !== 'EXPIRED') return;
      // Cancelled before, it is gone.
      await unlessGone(stripe.subscriptions.cancel(cancellation.externalId));
      if (isCurrent) account.endElsewhere();
    });
  }
}
