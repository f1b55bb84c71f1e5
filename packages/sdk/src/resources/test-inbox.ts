import type { Answer, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class TestInbox extends Resource {
  all(filters: Filters<'listTestInboxMessages'> = {}): List<Item<'listTestInboxMessages'>> {
    return this.listOf('listTestInboxMessages', filters);
  }

  get(id: string, options?: CallOptions): Promise<Answer<'getTestInboxMessage'>> {
    return this.transport.call('getTestInboxMessage', { ...options, path: { id } });
  }

  raw(id: string, options?: CallOptions): Promise<Answer<'getRawTestInboxMessage'>> {
    return this.transport.call('getRawTestInboxMessage', { ...options, path: { id } });
  }

  clear(options?: CallOptions): Promise<Answer<'clearTestInbox'>> {
    return this.transport.call('clearTestInbox', options);
  }
}
