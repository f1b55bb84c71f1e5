import type { Answer, Body, Item, Query } from '../operations.js';
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
