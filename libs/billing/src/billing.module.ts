import { Module } from '@nestjs/common';
import { CreditCheckQuery } from './credits/credit-check.query.js';
import { CreditsQuery } from './credits/credits.query.js';
import { CreditsService } from './credits/credits.service.js';
import { ExpireCredits } from './credits/expire-credits.task.js';
import { MonthlyCreditsService } from './credits/monthly-credits.service.js';
import { InvoicesQuery } from './invoices/invoices.query.js';
import { PlansQuery } from './plans/plans.query.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';
import { EmailQuota } from './usage/email-quota.service.js';
import { SubscriberLimitQuery } from './usage/subscriber-limit.query.js';
import { AiCreditUsage } from './usage/usage-sources.js';
import { UsageQuery } from './usage/usage.query.js';

const services = [
  CreditCheckQuery,
  CreditsQuery,
  CreditsService,
  { provide: AiCreditUsage, useExisting: CreditsQuery },
  ExpireCredits,
  MonthlyCreditsService,
  EmailQuota,
  InvoicesQuery,
  PlansQuery,
  SubscriberLimitQuery,
  SubscriptionsQuery,
  SubscriptionsService,
  UsageQuery,
];

/** What tenants have subscribed to and how much of it they have used. */
@Module({ providers: services, exports: services })
export class BillingModule {}
