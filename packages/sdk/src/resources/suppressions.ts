import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Suppressions extends Resource {
  all(filters: Filters<'listSuppressions'> = {}): List<Item<'listSuppressions'>> {
    return this.listOf('listSuppressions', filters);
  }

  add(body: Body<'suppress'>, options?: CallOptions): Promise<Answer<'suppress'>> {
    return this.transport.call('suppress', { ...options, json: body });
  }

  get(email: string, options?: CallOptions): Promise<Answer<'getSuppression'>> {
    return this.transport.call('getSuppression', { ...options, path: { email } });
  }

  /** Lets the address be written to again: only when its owner asked for it. */
  remove(email: string, options?: CallOptions): Promise<Answer<'unsuppress'>> {
    return this.transport.call('unsuppress', {
      ...options,
      path: { email },
      headers: { 'x-confirm-unsuppress': 'true' },
    });
  }
}
