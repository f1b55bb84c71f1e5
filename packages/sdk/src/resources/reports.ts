import type { Answer, Query } from '../operations.js';
import type { CallOptions } from '../transport.js';
import { Resource } from './resource.js';

export class Reports extends Resource {
  /** What a reader made of the campaign's figures, and how far its writing is. */
  get(campaignKey: string, options?: CallOptions): Promise<Answer<'getCampaignReport'>> {
    return this.transport.call('getCampaignReport', { ...options, path: { campaignKey } });
  }

  request(campaignKey: string, options?: CallOptions): Promise<Answer<'requestCampaignReport'>> {
    return this.transport.call('requestCampaignReport', { ...options, path: { campaignKey } });
  }

  statistics(campaignKey: string, options?: CallOptions): Promise<Answer<'getCampaignStatistics'>> {
    return this.transport.call('getCampaignStatistics', { ...options, path: { campaignKey } });
  }

  /** By the translation in which mails were sent. */
  languages(campaignKey: string, options?: CallOptions): Promise<Answer<'getCampaignLanguages'>> {
    return this.transport.call('getCampaignLanguages', { ...options, path: { campaignKey } });
  }

  timeline(
    campaignKey: string,
    query: Query<'getCampaignTimeline'> = {},
    options?: CallOptions,
  ): Promise<Answer<'getCampaignTimeline'>> {
    return this.transport.call('getCampaignTimeline', { ...options, path: { campaignKey }, query });
  }

  /** CSV, as text. */
  export(
    campaignKey: string,
    query: Query<'exportCampaignReport'> = {},
    options?: CallOptions,
  ): Promise<Answer<'exportCampaignReport'>> {
    return this.transport.call('exportCampaignReport', { ...options, path: { campaignKey }, query });
  }
}
