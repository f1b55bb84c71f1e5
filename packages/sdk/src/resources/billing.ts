import type { Answer, Item, Query } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Billing extends Resource {
  subscription(options?: CallOptions): Promise<Answer<'getSubscription'>> {
    return this.transport.call('getSubscription', options);
  }

  plans(query: Query<'listPlans'> = {}, options?: CallOptions): Promise<Answer<'listPlans'>> {
    return this.transport.call('listPlans', { ...options, query });
  }

  invoices(filters: Filters<'listInvoices'> = {}): List<Item<'listInvoices'>> {
    return this.listOf('listInvoices', filters);
  }

  /** Usage in the running period. */
  usage(options?: CallOptions): Promise<Answer<'getUsage'>> {
    return this.transport.call('getUsage', options);
  }
}

export class Credits extends Resource {
  balance(options?: CallOptions): Promise<Answer<'getCreditBalance'>> {
    return this.transport.call('getCreditBalance', options);
  }

  transactions(filters: Filters<'listCreditTransactions'> = {}): List<Item<'listCreditTransactions'>> {
    return this.listOf('listCreditTransactions', filters);
  }
}
