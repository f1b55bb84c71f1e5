import type { Answer, Body, Item, Query } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Campaigns extends Resource {
  all(filters: Filters<'listCampaigns'> = {}): List<Item<'listCampaigns'>> {
    return this.listOf('listCampaigns', filters);
  }

  create(body: Body<'createCampaign'>, options?: CallOptions): Promise<Answer<'createCampaign'>> {
    return this.transport.call('createCampaign', { ...options, json: body });
  }

  get(campaignKey: string, options?: CallOptions): Promise<Answer<'getCampaign'>> {
    return this.transport.call('getCampaign', { ...options, path: { campaignKey } });
  }

  update(
    campaignKey: string,
    body: Body<'updateCampaign'>,
    options?: CallOptions,
  ): Promise<Answer<'updateCampaign'>> {
    return this.transport.call('updateCampaign', { ...options, path: { campaignKey }, json: body });
  }

  delete(campaignKey: string, options?: CallOptions): Promise<Answer<'deleteCampaign'>> {
    return this.transport.call('deleteCampaign', { ...options, path: { campaignKey } });
  }

  analyse(campaignKey: string, options?: CallOptions): Promise<Answer<'analyseCampaign'>> {
    return this.transport.call('analyseCampaign', { ...options, path: { campaignKey } });
  }

  schedule(campaignKey: string, options?: CallOptions): Promise<Answer<'scheduleCampaign'>> {
    return this.transport.call('scheduleCampaign', { ...options, path: { campaignKey } });
  }

  send(campaignKey: string, options?: CallOptions): Promise<Answer<'sendCampaign'>> {
    return this.transport.call('sendCampaign', { ...options, path: { campaignKey } });
  }

  cancel(campaignKey: string, options?: CallOptions): Promise<Answer<'cancelCampaign'>> {
    return this.transport.call('cancelCampaign', { ...options, path: { campaignKey } });
  }

  pause(campaignKey: string, options?: CallOptions): Promise<Answer<'pauseCampaign'>> {
    return this.transport.call('pauseCampaign', { ...options, path: { campaignKey } });
  }

  resume(campaignKey: string, options?: CallOptions): Promise<Answer<'resumeCampaign'>> {
    return this.transport.call('resumeCampaign', { ...options, path: { campaignKey } });
  }

  retryFailed(campaignKey: string, options?: CallOptions): Promise<Answer<'retryFailedDeliveries'>> {
    return this.transport.call('retryFailedDeliveries', { ...options, path: { campaignKey } });
  }

  test(
    campaignKey: string,
    body: Body<'testCampaign'>,
    options?: CallOptions,
  ): Promise<Answer<'testCampaign'>> {
    return this.transport.call('testCampaign', { ...options, path: { campaignKey }, json: body });
  }

  deliveries(campaignKey: string, filters: Filters<'listDeliveries'> = {}): List<Item<'listDeliveries'>> {
    return this.listOf('listDeliveries', filters, { campaignKey });
  }

  /** As a subscriber would get it, or as a sample. */
  preview(
    campaignKey: string,
    query: Query<'previewCampaign'> = {},
    options?: CallOptions,
  ): Promise<Answer<'previewCampaign'>> {
    return this.transport.call('previewCampaign', { ...options, path: { campaignKey }, query });
  }
}

export class Reports extends Resource {
  /** The AI report on the campaign's figures, and its status. */
  get(campaignKey: string, options?: CallOptions): Promise<Answer<'getCampaignReport'>> {
    return this.transport.call('getCampaignReport', { ...options, path: { campaignKey } });
  }

  request(campaignKey: string, options?: CallOptions): Promise<Answer<'requestCampaignReport'>> {
    return this.transport.call('requestCampaignReport', { ...options, path: { campaignKey } });
  }

  statistics(campaignKey: string, options?: CallOptions): Promise<Answer<'getCampaignStatistics'>> {
    return this.transport.call('getCampaignStatistics', { ...options, path: { campaignKey } });
  }

  /** Figures by the translation in which mails were sent. */
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

export class TestInbox extends Resource {
  all(filters: Filters<'listTestInboxMessages'> = {}): List<Item<'listTestInboxMessages'>> {
    return this.listOf('listTestInboxMessages', filters);
  }

  get(id: string, options?: CallOptions): Promise<Answer<'getTestInboxMessage'>> {
    return this.transport.call('getTestInboxMessage', { ...options, path: { id } });
  }

  raw(id: string, options?: CallOptions): Promise<Answer<'getRawTestInboxMessage'>> {
    return this.transport.call('getRawTestInboxMessage', { ...options, path: { id } });
  }

  clear(options?: CallOptions): Promise<Answer<'clearTestInbox'>> {
    return this.transport.call('clearTestInbox', options);
  }
}
