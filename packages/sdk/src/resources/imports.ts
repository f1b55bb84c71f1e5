import type { Answer, Body, Item, Query } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Imports extends Resource {
  get(id: string, options?: CallOptions): Promise<Answer<'getImport'>> {
    return this.transport.call('getImport', { ...options, path: { id } });
  }

  errors(id: string, filters: Filters<'listImportErrors'> = {}): List<Item<'listImportErrors'>> {
    return this.listOf('listImportErrors', filters, { id });
  }

  /** Rows as JSON, at most 10 000. */
  rows(body: Body<'importSubscribers'>, options?: CallOptions): Promise<Answer<'importSubscribers'>> {
    return this.transport.call('importSubscribers', { ...options, json: body });
  }

  /** A CSV file of any size; its first row names the columns. */
  csv(
    csv: string | Blob,
    query: Query<'importSubscribers'>,
    options?: CallOptions,
  ): Promise<Answer<'importSubscribers'>> {
    return this.transport.call('importSubscribers', { ...options, csv, query });
  }
}
