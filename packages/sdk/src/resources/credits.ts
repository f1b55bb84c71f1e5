import type { Answer, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Credits extends Resource {
  balance(options?: CallOptions): Promise<Answer<'getCreditBalance'>> {
    return this.transport.call('getCreditBalance', options);
  }

  transactions(filters: Filters<'listCreditTransactions'> = {}): List<Item<'listCreditTransactions'>> {
    return this.listOf('listCreditTransactions', filters);
  }
}
