import type { Answer, Body } from '../operations.js';
import type { CallOptions } from '../transport.js';
import { Resource } from './resource.js';

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
