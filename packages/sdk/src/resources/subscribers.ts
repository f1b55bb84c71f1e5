import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Subscribers extends Resource {
  all(filters: Filters<'listSubscribers'> = {}): List<Item<'listSubscribers'>> {
    return this.listOf('listSubscribers', filters);
  }

  create(body: Body<'createSubscriber'>, options?: CallOptions): Promise<Answer<'createSubscriber'>> {
    return this.transport.call('createSubscriber', { ...options, json: body });
  }

  get(email: string, options?: CallOptions): Promise<Answer<'getSubscriber'>> {
    return this.transport.call('getSubscriber', { ...options, path: { email } });
  }

  update(
    email: string,
    body: Body<'updateSubscriber'>,
    options?: CallOptions,
  ): Promise<Answer<'updateSubscriber'>> {
    return this.transport.call('updateSubscriber', { ...options, path: { email }, json: body });
  }

  /** Erases the person everywhere. */
  erase(email: string, options?: CallOptions): Promise<Answer<'eraseSubscriber'>> {
    return this.transport.call('eraseSubscriber', { ...options, path: { email } });
  }

  recordEvent(
    email: string,
    body: Body<'recordSubscriberEvent'>,
    options?: CallOptions,
  ): Promise<Answer<'recordSubscriberEvent'>> {
    return this.transport.call('recordSubscriberEvent', { ...options, path: { email }, json: body });
  }
}
