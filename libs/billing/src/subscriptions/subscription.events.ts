import { defineEvent } from '#kernel';

/**
 * A month of a subscription has begun, with the AI credits that it includes. Yearly subscriptions have twelve.
 * After an upgrade in the middle of a month it comes again for the same `periodStart` with more `aiCredits`: what
 * is to be granted is the difference to what that month was granted before.
 */
export const SubscriptionPeriodStarted = defineEvent<{
  readonly subscriptionId: number;
  /** Of the whole month; 0 when the subscription includes none. */
  readonly aiCredits: number;
  /** ISO 8601. */
  readonly periodStart: string;
}>('billing.subscription_period_started.v1');
