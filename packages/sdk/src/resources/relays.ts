import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Relays extends Resource {
  all(filters: Filters<'listRelays'> = {}): List<Item<'listRelays'>> {
    return this.listOf('listRelays', filters);
  }

  create(body: Body<'createRelay'>, options?: CallOptions): Promise<Answer<'createRelay'>> {
    return this.transport.call('createRelay', { ...options, json: body });
  }

  get(relayKey: string, options?: CallOptions): Promise<Answer<'getRelay'>> {
    return this.transport.call('getRelay', { ...options, path: { relayKey } });
  }

  update(relayKey: string, body: Body<'updateRelay'>, options?: CallOptions): Promise<Answer<'updateRelay'>> {
    return this.transport.call('updateRelay', { ...options, path: { relayKey }, json: body });
  }

  delete(relayKey: string, options?: CallOptions): Promise<Answer<'deleteRelay'>> {
    return this.transport.call('deleteRelay', { ...options, path: { relayKey } });
  }

  check(relayKey: string, options?: CallOptions): Promise<Answer<'checkRelay'>> {
    return this.transport.call('checkRelay', { ...options, path: { relayKey } });
  }

  rotateFeedbackToken(relayKey: string, options?: CallOptions): Promise<Answer<'rotateRelayFeedbackToken'>> {
    return this.transport.call('rotateRelayFeedbackToken', { ...options, path: { relayKey } });
  }
}
