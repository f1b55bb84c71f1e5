import type { Answer, Body, Item, OperationId, Query } from './operations.js';
import { List, type PageOf } from './pages.js';
import type { Call, CallOptions, Transport } from './transport.js';

type Filters<Id extends OperationId> = Omit<Query<Id>, 'page'>;

/** The operations on one kind of thing. */
abstract class Resource {
  constructor(protected readonly transport: Transport) {}

  protected listOf<Id extends OperationId>(
    id: Id,
    filters: object = {},
    path: Call['path'] = {},
  ): List<Item<Id>> {
    return new List(async (page) => {
      const answer = await this.transport.call(id, { path, query: { ...filters, page } });
      return answer as unknown as PageOf<Item<Id>>;
    });
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

export class Segments extends Resource {
  all(filters: Filters<'listSegments'> = {}): List<Item<'listSegments'>> {
    return this.listOf('listSegments', filters);
  }

  create(body: Body<'createSegment'>, options?: CallOptions): Promise<Answer<'createSegment'>> {
    return this.transport.call('createSegment', { ...options, json: body });
  }

  preview(body: Body<'previewSegment'>, options?: CallOptions): Promise<Answer<'previewSegment'>> {
    return this.transport.call('previewSegment', { ...options, json: body });
  }

  get(segmentId: string, options?: CallOptions): Promise<Answer<'getSegment'>> {
    return this.transport.call('getSegment', { ...options, path: { segmentId } });
  }

  update(
    segmentId: string,
    body: Body<'updateSegment'>,
    options?: CallOptions,
  ): Promise<Answer<'updateSegment'>> {
    return this.transport.call('updateSegment', { ...options, path: { segmentId }, json: body });
  }

  delete(segmentId: string, options?: CallOptions): Promise<Answer<'deleteSegment'>> {
    return this.transport.call('deleteSegment', { ...options, path: { segmentId } });
  }

  members(segmentId: string, filters: Filters<'listSegmentMembers'> = {}): List<Item<'listSegmentMembers'>> {
    return this.listOf('listSegmentMembers', filters, { segmentId });
  }

  addMembers(
    segmentId: string,
    body: Body<'addSegmentMembers'>,
    options?: CallOptions,
  ): Promise<Answer<'addSegmentMembers'>> {
    return this.transport.call('addSegmentMembers', { ...options, path: { segmentId }, json: body });
  }

  removeMembers(
    segmentId: string,
    body: Body<'removeSegmentMembers'>,
    options?: CallOptions,
  ): Promise<Answer<'removeSegmentMembers'>> {
    return this.transport.call('removeSegmentMembers', { ...options, path: { segmentId }, json: body });
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

export class Automations extends Resource {
  all(filters: Filters<'listAutomations'> = {}): List<Item<'listAutomations'>> {
    return this.listOf('listAutomations', filters);
  }

  create(body: Body<'createAutomation'>, options?: CallOptions): Promise<Answer<'createAutomation'>> {
    return this.transport.call('createAutomation', { ...options, json: body });
  }

  get(automationId: string, options?: CallOptions): Promise<Answer<'getAutomation'>> {
    return this.transport.call('getAutomation', { ...options, path: { automationId } });
  }

  update(
    automationId: string,
    body: Body<'updateAutomation'>,
    options?: CallOptions,
  ): Promise<Answer<'updateAutomation'>> {
    return this.transport.call('updateAutomation', { ...options, path: { automationId }, json: body });
  }

  updateContent(
    automationId: string,
    body: Body<'updateAutomationContent'>,
    options?: CallOptions,
  ): Promise<Answer<'updateAutomationContent'>> {
    return this.transport.call('updateAutomationContent', { ...options, path: { automationId }, json: body });
  }

  delete(automationId: string, options?: CallOptions): Promise<Answer<'deleteAutomation'>> {
    return this.transport.call('deleteAutomation', { ...options, path: { automationId } });
  }

  activate(automationId: string, options?: CallOptions): Promise<Answer<'activateAutomation'>> {
    return this.transport.call('activateAutomation', { ...options, path: { automationId } });
  }

  pause(automationId: string, options?: CallOptions): Promise<Answer<'pauseAutomation'>> {
    return this.transport.call('pauseAutomation', { ...options, path: { automationId } });
  }

  /** Lets one subscriber in by hand. */
  enter(
    automationId: string,
    body: Body<'enterAutomation'>,
    options?: CallOptions,
  ): Promise<Answer<'enterAutomation'>> {
    return this.transport.call('enterAutomation', { ...options, path: { automationId }, json: body });
  }

  executions(
    automationId: string,
    filters: Filters<'listAutomationExecutions'> = {},
  ): List<Item<'listAutomationExecutions'>> {
    return this.listOf('listAutomationExecutions', filters, { automationId });
  }
}

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

export class Billing extends Resource {
  subscription(options?: CallOptions): Promise<Answer<'getSubscription'>> {
    return this.transport.call('getSubscription', options);
  }

  plans(query: Query<'listPlans'> = {}, options?: CallOptions): Promise<Answer<'listPlans'>> {
    return this.transport.call('listPlans', { ...options, query });
  }

  invoices(filters: Filters<'listInvoices'> = {}): List<Item<'listInvoices'>> {
    return this.listOf('listInvoices', filters);
  }

  /** Of the running period. */
  usage(options?: CallOptions): Promise<Answer<'getUsage'>> {
    return this.transport.call('getUsage', options);
  }
}

export class Credits extends Resource {
  balance(options?: CallOptions): Promise<Answer<'getCreditBalance'>> {
    return this.transport.call('getCreditBalance', options);
  }

  transactions(filters: Filters<'listCreditTransactions'> = {}): List<Item<'listCreditTransactions'>> {
    return this.listOf('listCreditTransactions', filters);
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
