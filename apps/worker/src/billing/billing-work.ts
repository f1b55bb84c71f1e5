import { AdvanceSubscriptions, ExpireCredits, SubscriptionPeriodStarted } from '#billing';
import type { ContextWork } from '../context-work.js';
import { GrantMonthlyCredits } from './grant-monthly-credits.job.js';

export const billingWork: ContextWork = {
  jobs: [GrantMonthlyCredits],
  events: [SubscriptionPeriodStarted],
  tasks: [AdvanceSubscriptions, ExpireCredits],
  parts: [],
};
