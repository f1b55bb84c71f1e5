import type { Answer, Body } from '../operations.js';
import type { CallOptions } from '../transport.js';
import { Resource } from './resource.js';

/** What opt-in mails, footers and pages say, by language. */
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
