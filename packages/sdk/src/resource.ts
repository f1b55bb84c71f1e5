import type { Item, OperationId, Query } from './operations.js';
import { List, type PageOf } from './pages.js';
import type { Call, ListOptions, Route, Transport } from './transport.js';

/** The query parameters of a list but its page. */
export type Filters<Id extends OperationId> = Omit<Query<Id>, 'after' | 'page'>;

/** The operations on one kind of thing. */
export abstract class Resource {
  constructor(protected readonly transport: Transport) {}

  protected listOf<Id extends OperationId>(
    route: Route,
    filters: object,
    { signal }: ListOptions = {},
    path: Call['path'] = {},
  ): List<Item<Id>> {
    return new List(async (place) => {
      const at = typeof place === 'string' ? { after: place } : { page: place };
      const answer = await this.transport.call<Id>(route, { path, query: { ...filters, ...at }, signal });
      return answer as unknown as PageOf<Item<Id>>;
    });
  }
}
