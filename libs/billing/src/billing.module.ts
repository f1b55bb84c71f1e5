import { Module } from '@nestjs/common';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';
import { EmailQuota } from './usage/email-quota.service.js';
import { SubscriberLimitQuery } from './usage/subscriber-limit.query.js';

const services = [EmailQuota, SubscriberLimitQuery, SubscriptionsQuery, SubscriptionsService];

/** What tenants have subscribed to and how much of it they have used. */
@Module({ providers: services, exports: services })
export class BillingModule {}
