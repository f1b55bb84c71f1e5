import type { Answer, Body } from '../operations.js';
import type { CallOptions } from '../transport.js';
import { Resource } from './resource.js';

export class Consents extends Resource {
  of(email: string, options?: CallOptions): Promise<Answer<'getConsents'>> {
    return this.transport.call('getConsents', { ...options, path: { email } });
  }

  grant(email: string, body: Body<'grantConsent'>, options?: CallOptions): Promise<Answer<'grantConsent'>> {
    return this.transport.call('grantConsent', { ...options, path: { email }, json: body });
  }

  revoke(email: string, topicKey: string, options?: CallOptions): Promise<Answer<'revokeConsent'>> {
    return this.transport.call('revokeConsent', { ...options, path: { email, topicKey } });
  }

  resend(email: string, topicKey: string, options?: CallOptions): Promise<Answer<'resendConfirmation'>> {
    return this.transport.call('resendConfirmation', { ...options, path: { email, topicKey } });
  }
}
