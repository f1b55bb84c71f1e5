import { Inject, Injectable } from '@nestjs/common';
import { PeriodicTask } from '#platform';
import { SubscriptionAccounts } from './subscription-accounts.service.js';

/** Renews, restricts and ends subscriptions when it is time. One transaction each, so that it can stop anywhere. */
@Injectable()
export class AdvanceSubscriptions extends PeriodicTask {
  override readonly name = 'advance-subscriptions';
  override readonly everyMs = 10_000;

  constructor(@Inject(SubscriptionAccounts) private readonly accounts: SubscriptionAccounts) {
    super();
  }

  /** One that fails does not keep the others; all failures are thrown together. */
  override async run(): Promise<void> {
    const failures: unknown[] = [];
    let tenants = await this.accounts.dueAfter(0);
    while (tenants.length > 0) {
      for (const tenantId of tenants) {
        try {
          await this.accounts.advance(tenantId);
        } catch (error) {
          failures.push(error);
        }
      }
      tenants = await this.accounts.dueAfter(tenants.at(-1) ?? 0);
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} subscriptions failed`);
  }
}
