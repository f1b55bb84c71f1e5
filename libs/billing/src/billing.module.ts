import { Module } from '@nestjs/common';
import { CreditCheckQuery } from './credits/credit-check.query.js';
import { CreditsQuery } from './credits/credits.query.js';
import { CreditsService } from './credits/credits.service.js';
import { ExpireCredits } from './credits/expire-credits.task.js';
import { MonthlyCreditsService } from './credits/monthly-credits.service.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';
import { EmailQuota } from './usage/email-quota.service.js';
import { SubscriberLimitQuery } from './usage/subscriber-limit.query.js';

const credits = [CreditCheckQuery, CreditsQuery, CreditsService, ExpireCredits, MonthlyCreditsService];
const services = [...credits, EmailQuota, SubscriberLimitQuery, SubscriptionsQuery, SubscriptionsService];

/** What tenants have subscribed to and how much of it they have used. */
@Module({ providers: services, exports: services })
export class BillingModule {}
