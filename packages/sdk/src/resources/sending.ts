import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

/** The project's own domain to send from: there is one, or none. */
export class SendingDomain extends Resource {
  get(options?: CallOptions): Promise<Answer<'getSendingDomain'>> {
    return this.transport.call('getSendingDomain', options);
  }

  create(body: Body<'createSendingDomain'>, options?: CallOptions): Promise<Answer<'createSendingDomain'>> {
    return this.transport.call('createSendingDomain', { ...options, json: body });
  }

  update(body: Body<'updateSendingDomain'>, options?: CallOptions): Promise<Answer<'updateSendingDomain'>> {
    return this.transport.call('updateSendingDomain', { ...options, json: body });
  }

  delete(options?: CallOptions): Promise<Answer<'deleteSendingDomain'>> {
    return this.transport.call('deleteSendingDomain', options);
  }

  /** The records to publish, and what each is for. */
  dnsInstructions(options?: CallOptions): Promise<Answer<'getDnsInstructions'>> {
    return this.transport.call('getDnsInstructions', options);
  }

  verifyDns(options?: CallOptions): Promise<Answer<'verifyDns'>> {
    return this.transport.call('verifyDns', options);
  }
}

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
