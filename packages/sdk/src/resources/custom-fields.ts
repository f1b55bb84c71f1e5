import type { Answer, Body } from '../operations.js';
import type { CallOptions } from '../transport.js';
import { Resource } from './resource.js';

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
