import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';

/** How many subscribers a tenant may have: in the live environments of all its projects together. */
@Injectable()
export class SubscriberLimitQuery {
  constructor(private readonly subscriptions: SubscriptionsQuery) {}

  /** −1 is unlimited (`UNLIMITED`). A tenant without a subscription may have none. */
  async max(scope: ProjectScope): Promise<number> {
    return (await this.subscriptions.ofTenant(scope))?.limits.maxSubscribers ?? 0;
  }
}
