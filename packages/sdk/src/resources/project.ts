import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

/** Wording of opt-in mails, footers and pages, by language. */
export class ProjectTexts extends Resource {
  get(locale: string, options?: CallOptions): Promise<Answer<'getProjectTexts'>> {
    return this.transport.call('getProjectTexts', { ...options, path: { locale } });
  }

  update(
    locale: string,
    body: Body<'updateProjectTexts'>,
    options?: CallOptions,
  ): Promise<Answer<'updateProjectTexts'>> {
    return this.transport.call('updateProjectTexts', { ...options, path: { locale }, json: body });
  }
}

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

export class CustomFields extends Resource {
  all(options?: CallOptions): Promise<Answer<'listCustomFields'>> {
    return this.transport.call('listCustomFields', options);
  }

  create(body: Body<'createCustomField'>, options?: CallOptions): Promise<Answer<'createCustomField'>> {
    return this.transport.call('createCustomField', { ...options, json: body });
  }

  get(key: string, options?: CallOptions): Promise<Answer<'getCustomField'>> {
    return this.transport.call('getCustomField', { ...options, path: { key } });
  }

  updateDetails(
    key: string,
    body: Body<'updateCustomFieldDetails'>,
    options?: CallOptions,
  ): Promise<Answer<'updateCustomFieldDetails'>> {
    return this.transport.call('updateCustomFieldDetails', { ...options, path: { key }, json: body });
  }

  updateConfig(
    key: string,
    body: Body<'updateCustomFieldConfig'>,
    options?: CallOptions,
  ): Promise<Answer<'updateCustomFieldConfig'>> {
    return this.transport.call('updateCustomFieldConfig', { ...options, path: { key }, json: body });
  }

  archive(key: string, options?: CallOptions): Promise<Answer<'archiveCustomField'>> {
    return this.transport.call('archiveCustomField', { ...options, path: { key } });
  }
}
