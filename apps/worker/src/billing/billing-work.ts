import {
  AdvanceSubscriptions,
  ApplyStripeEvents,
  CancelExpiredAtStripe,
  CreditsDepleted,
  ExpireCredits,
  SubscriptionPeriodStarted,
} from '#billing';
import type { ContextWork } from '../context-work.js';
import { GrantMonthlyCredits } from './grant-monthly-credits.job.js';
import { WarnOfDepletedCredits } from './warn-of-depleted-credits.job.js';

export const billingWork: ContextWork = {
  jobs: [GrantMonthlyCredits, WarnOfDepletedCredits],
  events: [CreditsDepleted, SubscriptionPeriodStarted],
  tasks: [AdvanceSubscriptions, ApplyStripeEvents, CancelExpiredAtStripe, ExpireCredits],
  parts: [],
};
