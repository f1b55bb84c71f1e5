import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import type { PlanLimits } from '../plans/plan.js';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';

/** What a plan includes or does not: `customFields` is its limit `customFieldsEnabled`. */
export type PlanFeature = {
  [Name in keyof PlanLimits]: Name extends `${infer Feature}Enabled` ? Feature : never;
}[keyof PlanLimits];

/** What a tenant's plan includes. */
@Injectable()
export class PlanFeaturesQuery {
  constructor(private readonly subscriptions: SubscriptionsQuery) {}

  /** A tenant without a subscription has nothing. */
  async allows(scope: ProjectScope, feature: PlanFeature): Promise<boolean> {
    const subscription = await this.subscriptions.ofTenant(scope);
    return subscription?.limits[`${feature}Enabled`] ?? false;
  }
}
