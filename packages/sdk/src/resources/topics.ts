import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Topics extends Resource {
  all(filters: Filters<'listTopics'> = {}): List<Item<'listTopics'>> {
    return this.listOf('listTopics', filters);
  }

  create(body: Body<'createTopic'>, options?: CallOptions): Promise<Answer<'createTopic'>> {
    return this.transport.call('createTopic', { ...options, json: body });
  }

  get(topicKey: string, options?: CallOptions): Promise<Answer<'getTopic'>> {
    return this.transport.call('getTopic', { ...options, path: { topicKey } });
  }

  update(topicKey: string, body: Body<'updateTopic'>, options?: CallOptions): Promise<Answer<'updateTopic'>> {
    return this.transport.call('updateTopic', { ...options, path: { topicKey }, json: body });
  }

  delete(topicKey: string, options?: CallOptions): Promise<Answer<'deleteTopic'>> {
    return this.transport.call('deleteTopic', { ...options, path: { topicKey } });
  }
}
