import { Injectable } from '@nestjs/common';
import { forEachApart, PeriodicTask } from '#platform';
import { SubscriptionAccounts } from './subscription-accounts.service.js';

/** Renews, restricts and ends subscriptions when it is time. One transaction each, so that it can stop anywhere. */
@Injectable()
export class AdvanceSubscriptions extends PeriodicTask {
  override readonly name = 'advance-subscriptions';
  override readonly everyMs = 10_000;

  constructor(private readonly accounts: SubscriptionAccounts) {
    super();
  }

  override async run(): Promise<void> {
    await forEachApart(this.#due(), (tenantId) => this.accounts.advance(tenantId), 'subscriptions failed');
  }

  async *#due(): AsyncGenerator<number> {
    let tenants = await this.accounts.dueAfter(0);
    while (tenants.length > 0) {
      yield* tenants;
      tenants = await this.accounts.dueAfter(tenants.at(-1) ?? 0);
    }
  }
}
