// Written by `npm run openapi` from docs/openapi.json: change the operation in its controller instead.
import type { Answer, Body, Item, Query } from './operations.js';
import type { List } from './pages.js';
import { type Filters, Resource } from './resource.js';
import type { CallOptions, ListOptions, ReadOptions } from './transport.js';

class ApiKeys extends Resource {
  /** List API keys, newest first. */
  all(filters: Filters<'listApiKeys'> = {}, options?: ListOptions): List<Item<'listApiKeys'>> {
    return this.listOf<'listApiKeys'>('GET /api-keys', filters, options);
  }

  /** Make an API key. */
  create(body: Body<'createApiKey'>, options?: CallOptions): Promise<Answer<'createApiKey'>> {
    return this.transport.call<'createApiKey'>('POST /api-keys', { ...options, json: body });
  }

  /** Get the key that asks. */
  current(options?: ReadOptions): Promise<Answer<'getCurrentApiKey'>> {
    return this.transport.call<'getCurrentApiKey'>('GET /api-keys/current', options);
  }

  /** Get an API key. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getApiKey'>> {
    return this.transport.call<'getApiKey'>('GET /api-keys/{id}', { ...options, path: { id } });
  }

  /** Change an API key. */
  update(id: string, body: Body<'updateApiKey'>, options?: CallOptions): Promise<Answer<'updateApiKey'>> {
    return this.transport.call<'updateApiKey'>('PATCH /api-keys/{id}', {
      ...options,
      path: { id },
      json: body,
    });
  }

  /** Revoke an API key. */
  revoke(id: string, options?: CallOptions): Promise<Answer<'revokeApiKey'>> {
    return this.transport.call<'revokeApiKey'>('DELETE /api-keys/{id}', { ...options, path: { id } });
  }

  /** Make a successor of an API key. */
  rotate(id: string, body: Body<'rotateApiKey'>, options?: CallOptions): Promise<Answer<'rotateApiKey'>> {
    return this.transport.call<'rotateApiKey'>('POST /api-keys/{id}/rotate', {
      ...options,
      path: { id },
      json: body,
    });
  }
}

class Project extends Resource {
  /** Get the project of the key. */
  get(options?: ReadOptions): Promise<Answer<'getProject'>> {
    return this.transport.call<'getProject'>('GET /project', options);
  }

  /** Change the settings of the project. */
  update(body: Body<'updateProject'>, options?: CallOptions): Promise<Answer<'updateProject'>> {
    return this.transport.call<'updateProject'>('PATCH /project', { ...options, json: body });
  }
}

class ProjectTexts extends Resource {
  /** Get the texts of opt-in mails, footers and pages in a language. */
  get(locale: string, options?: ReadOptions): Promise<Answer<'getProjectTexts'>> {
    return this.transport.call<'getProjectTexts'>('GET /project/texts/{locale}', {
      ...options,
      path: { locale },
    });
  }

  /** Set texts of your own. */
  update(
    locale: string,
    body: Body<'updateProjectTexts'>,
    options?: CallOptions,
  ): Promise<Answer<'updateProjectTexts'>> {
    return this.transport.call<'updateProjectTexts'>('PUT /project/texts/{locale}', {
      ...options,
      path: { locale },
      json: body,
    });
  }
}

class AuditLog extends Resource {
  /** List the requests that changed something, or were refused. */
  all(filters: Filters<'listAuditLog'> = {}, options?: ListOptions): List<Item<'listAuditLog'>> {
    return this.listOf<'listAuditLog'>('GET /audit-log', filters, options);
  }

  /** Download the audit log as lines of JSON. */
  export(query: Query<'exportAuditLog'> = {}, options?: CallOptions): Promise<Answer<'exportAuditLog'>> {
    return this.transport.call<'exportAuditLog'>('GET /audit-log/export', {
      ...options,
      query,
      answerType: 'application/x-ndjson',
    });
  }
}

class Requests extends Resource {
  /** List the requests of the last 24 hours. */
  all(filters: Filters<'listRequests'> = {}, options?: ListOptions): List<Item<'listRequests'>> {
    return this.listOf<'listRequests'>('GET /requests', filters, options);
  }
}

class Topics extends Resource {
  /** List topics, newest first. */
  all(filters: Filters<'listTopics'> = {}, options?: ListOptions): List<Item<'listTopics'>> {
    return this.listOf<'listTopics'>('GET /topics', filters, options);
  }

  /** Create a topic. */
  create(body: Body<'createTopic'>, options?: CallOptions): Promise<Answer<'createTopic'>> {
    return this.transport.call<'createTopic'>('POST /topics', { ...options, json: body });
  }

  /** Get a topic. */
  get(topicKey: string, options?: ReadOptions): Promise<Answer<'getTopic'>> {
    return this.transport.call<'getTopic'>('GET /topics/{topicKey}', { ...options, path: { topicKey } });
  }

  /** Change a topic. */
  update(topicKey: string, body: Body<'updateTopic'>, options?: CallOptions): Promise<Answer<'updateTopic'>> {
    return this.transport.call<'updateTopic'>('PATCH /topics/{topicKey}', {
      ...options,
      path: { topicKey },
      json: body,
    });
  }

  /** Delete a topic. */
  delete(topicKey: string, options?: CallOptions): Promise<Answer<'deleteTopic'>> {
    return this.transport.call<'deleteTopic'>('DELETE /topics/{topicKey}', {
      ...options,
      path: { topicKey },
    });
  }
}

class Subscribers extends Resource {
  /** List subscribers, newest first. */
  all(filters: Filters<'listSubscribers'> = {}, options?: ListOptions): List<Item<'listSubscribers'>> {
    return this.listOf<'listSubscribers'>('GET /subscribers', filters, options);
  }

  /** Create a subscriber with consent to at least one topic. */
  create(body: Body<'createSubscriber'>, options?: CallOptions): Promise<Answer<'createSubscriber'>> {
    return this.transport.call<'createSubscriber'>('POST /subscribers', { ...options, json: body });
  }

  /** Get a subscriber. */
  get(email: string, options?: ReadOptions): Promise<Answer<'getSubscriber'>> {
    return this.transport.call<'getSubscriber'>('GET /subscribers/{email}', { ...options, path: { email } });
  }

  /** Create a subscriber, or change the one with this address. */
  upsert(
    email: string,
    body: Body<'upsertSubscriber'>,
    options?: CallOptions,
  ): Promise<Answer<'upsertSubscriber'>> {
    return this.transport.call<'upsertSubscriber'>('PUT /subscribers/{email}', {
      ...options,
      path: { email },
      json: body,
    });
  }

  /** Change a subscriber. */
  update(
    email: string,
    body: Body<'updateSubscriber'>,
    options?: CallOptions,
  ): Promise<Answer<'updateSubscriber'>> {
    return this.transport.call<'updateSubscriber'>('PATCH /subscribers/{email}', {
      ...options,
      path: { email },
      json: body,
    });
  }

  /** Erase a subscriber. */
  erase(email: string, options?: CallOptions): Promise<Answer<'eraseSubscriber'>> {
    return this.transport.call<'eraseSubscriber'>('DELETE /subscribers/{email}', {
      ...options,
      path: { email },
    });
  }

  /** Record what a subscriber did. */
  recordEvent(
    email: string,
    body: Body<'recordSubscriberEvent'>,
    options?: CallOptions,
  ): Promise<Answer<'recordSubscriberEvent'>> {
    return this.transport.call<'recordSubscriberEvent'>('POST /subscribers/{email}/events', {
      ...options,
      path: { email },
      json: body,
    });
  }

  /** Record up to 1 000 events of any subscribers. */
  recordEvents(
    body: Body<'recordSubscriberEvents'>,
    options?: CallOptions,
  ): Promise<Answer<'recordSubscriberEvents'>> {
    return this.transport.call<'recordSubscriberEvents'>('POST /subscriber-events/batch', {
      ...options,
      json: body,
    });
  }

  /** List what happened to a subscriber, newest first. */
  activity(
    email: string,
    filters: Filters<'listSubscriberActivity'> = {},
    options?: ListOptions,
  ): List<Item<'listSubscriberActivity'>> {
    return this.listOf<'listSubscriberActivity'>('GET /subscribers/{email}/activity', filters, options, {
      email,
    });
  }

  /** Export everything that is held about a person. */
  export(email: string, options?: ReadOptions): Promise<Answer<'exportSubscriber'>> {
    return this.transport.call<'exportSubscriber'>('GET /subscribers/{email}/export', {
      ...options,
      path: { email },
    });
  }
}

class Imports extends Resource {
  /** Import subscribers from CSV or a list. */
  rows(body: Body<'importSubscribers'>, options?: CallOptions): Promise<Answer<'importSubscribers'>> {
    return this.transport.call<'importSubscribers'>('POST /subscriber-imports', { ...options, json: body });
  }

  /** Import subscribers from CSV or a list: a CSV file. */
  csv(
    csv: string | Blob,
    query: Query<'importSubscribers'>,
    options?: CallOptions,
  ): Promise<Answer<'importSubscribers'>> {
    return this.transport.call<'importSubscribers'>('POST /subscriber-imports', { ...options, csv, query });
  }

  /** Get how far an import is. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getImport'>> {
    return this.transport.call<'getImport'>('GET /subscriber-imports/{id}', { ...options, path: { id } });
  }

  /** List the errors and notes of an import, in the order of its rows. */
  errors(
    id: string,
    filters: Filters<'listImportErrors'> = {},
    options?: ListOptions,
  ): List<Item<'listImportErrors'>> {
    return this.listOf<'listImportErrors'>('GET /subscriber-imports/{id}/errors', filters, options, { id });
  }
}

class Suppressions extends Resource {
  /** Suppress the addresses of a CSV file. */
  import(
    csv: string | Blob,
    query: Query<'importSuppressions'> = {},
    options?: CallOptions,
  ): Promise<Answer<'importSuppressions'>> {
    return this.transport.call<'importSuppressions'>('POST /suppression-imports', { ...options, csv, query });
  }

  /** Get how far an import of suppressions is. */
  getImport(id: string, options?: ReadOptions): Promise<Answer<'getSuppressionImport'>> {
    return this.transport.call<'getSuppressionImport'>('GET /suppression-imports/{id}', {
      ...options,
      path: { id },
    });
  }

  /** List the errors and notes of an import of suppressions, in the order of its rows. */
  importErrors(
    id: string,
    filters: Filters<'listSuppressionImportErrors'> = {},
    options?: ListOptions,
  ): List<Item<'listSuppressionImportErrors'>> {
    return this.listOf<'listSuppressionImportErrors'>(
      'GET /suppression-imports/{id}/errors',
      filters,
      options,
      { id },
    );
  }

  /** List suppressed addresses, newest first. */
  all(filters: Filters<'listSuppressions'> = {}, options?: ListOptions): List<Item<'listSuppressions'>> {
    return this.listOf<'listSuppressions'>('GET /suppressions', filters, options);
  }

  /** Suppress an address. */
  add(body: Body<'suppress'>, options?: CallOptions): Promise<Answer<'suppress'>> {
    return this.transport.call<'suppress'>('POST /suppressions', { ...options, json: body });
  }

  /** Suppress up to 1 000 addresses. */
  addAll(body: Body<'suppressAll'>, options?: CallOptions): Promise<Answer<'suppressAll'>> {
    return this.transport.call<'suppressAll'>('POST /suppressions/batch', { ...options, json: body });
  }

  /** Get whether an address is suppressed. */
  get(email: string, options?: ReadOptions): Promise<Answer<'getSuppression'>> {
    return this.transport.call<'getSuppression'>('GET /suppressions/{email}', {
      ...options,
      path: { email },
    });
  }

  /** Remove an address from the suppression list. */
  remove(email: string, options?: CallOptions): Promise<Answer<'unsuppress'>> {
    return this.transport.call<'unsuppress'>('DELETE /suppressions/{email}', {
      ...options,
      path: { email },
      headers: { 'X-Confirm-Unsuppress': 'true' },
    });
  }
}

class Consents extends Resource {
  /** Get the consents of a subscriber. */
  of(email: string, options?: ReadOptions): Promise<Answer<'getConsents'>> {
    return this.transport.call<'getConsents'>('GET /subscribers/{email}/consents', {
      ...options,
      path: { email },
    });
  }

  /** Grant consent to a topic. */
  grant(email: string, body: Body<'grantConsent'>, options?: CallOptions): Promise<Answer<'grantConsent'>> {
    return this.transport.call<'grantConsent'>('POST /subscribers/{email}/consents', {
      ...options,
      path: { email },
      json: body,
    });
  }

  /** Revoke the consent to one topic. */
  revoke(email: string, topicKey: string, options?: CallOptions): Promise<Answer<'revokeConsent'>> {
    return this.transport.call<'revokeConsent'>('DELETE /subscribers/{email}/consents/{topicKey}', {
      ...options,
      path: { email, topicKey },
    });
  }

  /** Send the confirmation mail of a pending consent again. */
  resend(email: string, topicKey: string, options?: CallOptions): Promise<Answer<'resendConfirmation'>> {
    return this.transport.call<'resendConfirmation'>('POST /subscribers/{email}/consents/{topicKey}/resend', {
      ...options,
      path: { email, topicKey },
    });
  }

  /** List every change of a subscriber’s consents with its proof, newest first. */
  records(
    email: string,
    filters: Filters<'listConsentRecords'> = {},
    options?: ListOptions,
  ): List<Item<'listConsentRecords'>> {
    return this.listOf<'listConsentRecords'>('GET /subscribers/{email}/consent-records', filters, options, {
      email,
    });
  }

  /** Revoke up to 1 000 consents. */
  revokeAll(body: Body<'revokeConsents'>, options?: CallOptions): Promise<Answer<'revokeConsents'>> {
    return this.transport.call<'revokeConsents'>('POST /consents/revoke-batch', { ...options, json: body });
  }
}

class CustomFields extends Resource {
  /** List the active custom fields and the fields of the system. */
  all(options?: ReadOptions): Promise<Answer<'listCustomFields'>> {
    return this.transport.call<'listCustomFields'>('GET /custom-fields', options);
  }

  /** Create a custom field. */
  create(body: Body<'createCustomField'>, options?: CallOptions): Promise<Answer<'createCustomField'>> {
    return this.transport.call<'createCustomField'>('POST /custom-fields', { ...options, json: body });
  }

  /** Get an active or archived custom field. */
  get(key: string, options?: ReadOptions): Promise<Answer<'getCustomField'>> {
    return this.transport.call<'getCustomField'>('GET /custom-fields/{key}', { ...options, path: { key } });
  }

  /** Archive a custom field. */
  archive(key: string, options?: CallOptions): Promise<Answer<'archiveCustomField'>> {
    return this.transport.call<'archiveCustomField'>('DELETE /custom-fields/{key}', {
      ...options,
      path: { key },
    });
  }

  /** Change how a custom field is presented and whether it is required. */
  updateDetails(
    key: string,
    body: Body<'updateCustomFieldDetails'>,
    options?: CallOptions,
  ): Promise<Answer<'updateCustomFieldDetails'>> {
    return this.transport.call<'updateCustomFieldDetails'>('PATCH /custom-fields/{key}/details', {
      ...options,
      path: { key },
      json: body,
    });
  }

  /** Change the options and the default of a custom field. */
  updateConfig(
    key: string,
    body: Body<'updateCustomFieldConfig'>,
    options?: CallOptions,
  ): Promise<Answer<'updateCustomFieldConfig'>> {
    return this.transport.call<'updateCustomFieldConfig'>('PATCH /custom-fields/{key}/config', {
      ...options,
      path: { key },
      json: body,
    });
  }
}

class Segments extends Resource {
  /** List segments, newest first. */
  all(filters: Filters<'listSegments'> = {}, options?: ListOptions): List<Item<'listSegments'>> {
    return this.listOf<'listSegments'>('GET /segments', filters, options);
  }

  /** Create a segment. */
  create(body: Body<'createSegment'>, options?: CallOptions): Promise<Answer<'createSegment'>> {
    return this.transport.call<'createSegment'>('POST /segments', { ...options, json: body });
  }

  /** Count the subscribers who match rules, and show a few of them. */
  preview(body: Body<'previewSegment'>, options?: CallOptions): Promise<Answer<'previewSegment'>> {
    return this.transport.call<'previewSegment'>('POST /segments/preview', { ...options, json: body });
  }

  /** Get a segment. */
  get(segmentId: string, options?: ReadOptions): Promise<Answer<'getSegment'>> {
    return this.transport.call<'getSegment'>('GET /segments/{segmentId}', {
      ...options,
      path: { segmentId },
    });
  }

  /** Change a segment. */
  update(
    segmentId: string,
    body: Body<'updateSegment'>,
    options?: CallOptions,
  ): Promise<Answer<'updateSegment'>> {
    return this.transport.call<'updateSegment'>('PATCH /segments/{segmentId}', {
      ...options,
      path: { segmentId },
      json: body,
    });
  }

  /** Delete a segment. */
  delete(segmentId: string, options?: CallOptions): Promise<Answer<'deleteSegment'>> {
    return this.transport.call<'deleteSegment'>('DELETE /segments/{segmentId}', {
      ...options,
      path: { segmentId },
    });
  }

  /** List the members of a segment, latest first. */
  members(
    segmentId: string,
    filters: Filters<'listSegmentMembers'> = {},
    options?: ListOptions,
  ): List<Item<'listSegmentMembers'>> {
    return this.listOf<'listSegmentMembers'>('GET /segments/{segmentId}/members', filters, options, {
      segmentId,
    });
  }

  /** Add subscribers to a STATIC segment. */
  addMembers(
    segmentId: string,
    body: Body<'addSegmentMembers'>,
    options?: CallOptions,
  ): Promise<Answer<'addSegmentMembers'>> {
    return this.transport.call<'addSegmentMembers'>('POST /segments/{segmentId}/members', {
      ...options,
      path: { segmentId },
      json: body,
    });
  }

  /** Remove subscribers from a STATIC segment. */
  removeMembers(
    segmentId: string,
    body: Body<'removeSegmentMembers'>,
    options?: CallOptions,
  ): Promise<Answer<'removeSegmentMembers'>> {
    return this.transport.call<'removeSegmentMembers'>('POST /segments/{segmentId}/members/remove', {
      ...options,
      path: { segmentId },
      json: body,
    });
  }
}

class Automations extends Resource {
  /** List automations, newest first. */
  all(filters: Filters<'listAutomations'> = {}, options?: ListOptions): List<Item<'listAutomations'>> {
    return this.listOf<'listAutomations'>('GET /automations', filters, options);
  }

  /** Create an automation. */
  create(body: Body<'createAutomation'>, options?: CallOptions): Promise<Answer<'createAutomation'>> {
    return this.transport.call<'createAutomation'>('POST /automations', { ...options, json: body });
  }

  /** Get an automation. */
  get(automationId: string, options?: ReadOptions): Promise<Answer<'getAutomation'>> {
    return this.transport.call<'getAutomation'>('GET /automations/{automationId}', {
      ...options,
      path: { automationId },
    });
  }

  /** Change an automation. */
  update(
    automationId: string,
    body: Body<'updateAutomation'>,
    options?: CallOptions,
  ): Promise<Answer<'updateAutomation'>> {
    return this.transport.call<'updateAutomation'>('PATCH /automations/{automationId}', {
      ...options,
      path: { automationId },
      json: body,
    });
  }

  /** Delete an automation. */
  delete(automationId: string, options?: CallOptions): Promise<Answer<'deleteAutomation'>> {
    return this.transport.call<'deleteAutomation'>('DELETE /automations/{automationId}', {
      ...options,
      path: { automationId },
    });
  }

  /** Replace the steps of an automation. */
  updateContent(
    automationId: string,
    body: Body<'updateAutomationContent'>,
    options?: CallOptions,
  ): Promise<Answer<'updateAutomationContent'>> {
    return this.transport.call<'updateAutomationContent'>('PATCH /automations/{automationId}/content', {
      ...options,
      path: { automationId },
      json: body,
    });
  }

  /** Activate an automation that is DRAFT or PAUSED. */
  activate(automationId: string, options?: CallOptions): Promise<Answer<'activateAutomation'>> {
    return this.transport.call<'activateAutomation'>('POST /automations/{automationId}/activate', {
      ...options,
      path: { automationId },
    });
  }

  /** Pause an automation that is ACTIVE. */
  pause(automationId: string, options?: CallOptions): Promise<Answer<'pauseAutomation'>> {
    return this.transport.call<'pauseAutomation'>('POST /automations/{automationId}/pause', {
      ...options,
      path: { automationId },
    });
  }

  /** Get the numbers of an automation and of its nodes. */
  report(automationId: string, options?: ReadOptions): Promise<Answer<'getAutomationReport'>> {
    return this.transport.call<'getAutomationReport'>('GET /automations/{automationId}/report', {
      ...options,
      path: { automationId },
    });
  }

  /** List the runs of an automation with their steps, latest first. */
  executions(
    automationId: string,
    filters: Filters<'listAutomationExecutions'> = {},
    options?: ListOptions,
  ): List<Item<'listAutomationExecutions'>> {
    return this.listOf<'listAutomationExecutions'>(
      'GET /automations/{automationId}/executions',
      filters,
      options,
      { automationId },
    );
  }

  /** Enter a subscriber into an automation that is ACTIVE. */
  enter(
    automationId: string,
    body: Body<'enterAutomation'>,
    options?: CallOptions,
  ): Promise<Answer<'enterAutomation'>> {
    return this.transport.call<'enterAutomation'>('POST /automations/{automationId}/executions', {
      ...options,
      path: { automationId },
      json: body,
    });
  }
}

class Campaigns extends Resource {
  /** List campaigns, newest first. */
  all(filters: Filters<'listCampaigns'> = {}, options?: ListOptions): List<Item<'listCampaigns'>> {
    return this.listOf<'listCampaigns'>('GET /campaigns', filters, options);
  }

  /** Create a campaign. */
  create(body: Body<'createCampaign'>, options?: CallOptions): Promise<Answer<'createCampaign'>> {
    return this.transport.call<'createCampaign'>('POST /campaigns', { ...options, json: body });
  }

  /** Get a campaign. */
  get(campaignKey: string, options?: ReadOptions): Promise<Answer<'getCampaign'>> {
    return this.transport.call<'getCampaign'>('GET /campaigns/{campaignKey}', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Change a campaign. */
  update(
    campaignKey: string,
    body: Body<'updateCampaign'>,
    options?: CallOptions,
  ): Promise<Answer<'updateCampaign'>> {
    return this.transport.call<'updateCampaign'>('PATCH /campaigns/{campaignKey}', {
      ...options,
      path: { campaignKey },
      json: body,
    });
  }

  /** Delete a campaign. */
  delete(campaignKey: string, options?: CallOptions): Promise<Answer<'deleteCampaign'>> {
    return this.transport.call<'deleteCampaign'>('DELETE /campaigns/{campaignKey}', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Duplicate a campaign. */
  duplicate(
    campaignKey: string,
    body: Body<'duplicateCampaign'>,
    options?: CallOptions,
  ): Promise<Answer<'duplicateCampaign'>> {
    return this.transport.call<'duplicateCampaign'>('POST /campaigns/{campaignKey}/duplicate', {
      ...options,
      path: { campaignKey },
      json: body,
    });
  }

  /** Check a campaign before it is sent. */
  analyse(campaignKey: string, options?: ReadOptions): Promise<Answer<'analyseCampaign'>> {
    return this.transport.call<'analyseCampaign'>('GET /campaigns/{campaignKey}/pre-send-analysis', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Preview a campaign’s mail with its merge tags filled in. */
  preview(
    campaignKey: string,
    query: Query<'previewCampaign'> = {},
    options?: CallOptions,
  ): Promise<Answer<'previewCampaign'>> {
    return this.transport.call<'previewCampaign'>('GET /campaigns/{campaignKey}/preview', {
      ...options,
      path: { campaignKey },
      query,
    });
  }

  /** Preview a campaign’s mail with changes that are not stored. */
  previewChanges(
    campaignKey: string,
    body: Body<'previewCampaignChanges'>,
    options?: CallOptions,
  ): Promise<Answer<'previewCampaignChanges'>> {
    return this.transport.call<'previewCampaignChanges'>('POST /campaigns/{campaignKey}/preview', {
      ...options,
      path: { campaignKey },
      json: body,
    });
  }

  /** Make a link to a page that shows the campaign. */
  previewLink(campaignKey: string, options?: CallOptions): Promise<Answer<'linkCampaignPreview'>> {
    return this.transport.call<'linkCampaignPreview'>('POST /campaigns/{campaignKey}/preview-link', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Send a copy with sample data to up to five addresses. */
  test(
    campaignKey: string,
    body: Body<'testCampaign'>,
    options?: CallOptions,
  ): Promise<Answer<'testCampaign'>> {
    return this.transport.call<'testCampaign'>('POST /campaigns/{campaignKey}/test', {
      ...options,
      path: { campaignKey },
      json: body,
    });
  }

  /** Schedule a campaign. */
  schedule(campaignKey: string, options?: CallOptions): Promise<Answer<'scheduleCampaign'>> {
    return this.transport.call<'scheduleCampaign'>('POST /campaigns/{campaignKey}/schedule', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Send a campaign now. */
  send(campaignKey: string, options?: CallOptions): Promise<Answer<'sendCampaign'>> {
    return this.transport.call<'sendCampaign'>('POST /campaigns/{campaignKey}/send', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Cancel a campaign. */
  cancel(campaignKey: string, options?: CallOptions): Promise<Answer<'cancelCampaign'>> {
    return this.transport.call<'cancelCampaign'>('POST /campaigns/{campaignKey}/cancel', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Pause a campaign that is SENDING. */
  pause(campaignKey: string, options?: CallOptions): Promise<Answer<'pauseCampaign'>> {
    return this.transport.call<'pauseCampaign'>('POST /campaigns/{campaignKey}/pause', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Resume a campaign that is PAUSED. */
  resume(campaignKey: string, options?: CallOptions): Promise<Answer<'resumeCampaign'>> {
    return this.transport.call<'resumeCampaign'>('POST /campaigns/{campaignKey}/resume', {
      ...options,
      path: { campaignKey },
    });
  }

  /** End a campaign’s test and send the rest of the audience this variant. */
  chooseVariant(
    campaignKey: string,
    body: Body<'chooseVariant'>,
    options?: CallOptions,
  ): Promise<Answer<'chooseVariant'>> {
    return this.transport.call<'chooseVariant'>('POST /campaigns/{campaignKey}/choose-variant', {
      ...options,
      path: { campaignKey },
      json: body,
    });
  }

  /** Retry the deliveries of a campaign that failed temporarily. */
  retryFailed(campaignKey: string, options?: CallOptions): Promise<Answer<'retryFailedDeliveries'>> {
    return this.transport.call<'retryFailedDeliveries'>('POST /campaigns/{campaignKey}/retry-failed', {
      ...options,
      path: { campaignKey },
    });
  }

  /** List the deliveries of a campaign. */
  deliveries(
    campaignKey: string,
    filters: Filters<'listDeliveries'> = {},
    options?: ListOptions,
  ): List<Item<'listDeliveries'>> {
    return this.listOf<'listDeliveries'>('GET /campaigns/{campaignKey}/deliveries', filters, options, {
      campaignKey,
    });
  }
}

class Reports extends Resource {
  /** Get the written report on a campaign. */
  get(campaignKey: string, options?: ReadOptions): Promise<Answer<'getCampaignReport'>> {
    return this.transport.call<'getCampaignReport'>('GET /campaigns/{campaignKey}/report', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Generate a new version of the report. */
  request(campaignKey: string, options?: CallOptions): Promise<Answer<'requestCampaignReport'>> {
    return this.transport.call<'requestCampaignReport'>('POST /campaigns/{campaignKey}/report', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Get a campaign’s numbers. */
  statistics(campaignKey: string, options?: ReadOptions): Promise<Answer<'getCampaignStatistics'>> {
    return this.transport.call<'getCampaignStatistics'>('GET /campaigns/{campaignKey}/report/statistics', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Get a campaign’s numbers by language. */
  languages(campaignKey: string, options?: ReadOptions): Promise<Answer<'getCampaignLanguages'>> {
    return this.transport.call<'getCampaignLanguages'>('GET /campaigns/{campaignKey}/report/languages', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Get the results of a campaign’s A/B test. */
  variants(campaignKey: string, options?: ReadOptions): Promise<Answer<'getCampaignVariants'>> {
    return this.transport.call<'getCampaignVariants'>('GET /campaigns/{campaignKey}/report/variants', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Get a campaign’s clicks by link. */
  links(campaignKey: string, options?: ReadOptions): Promise<Answer<'getCampaignLinks'>> {
    return this.transport.call<'getCampaignLinks'>('GET /campaigns/{campaignKey}/report/links', {
      ...options,
      path: { campaignKey },
    });
  }

  /** Get a campaign’s numbers over time. */
  timeline(
    campaignKey: string,
    query: Query<'getCampaignTimeline'> = {},
    options?: CallOptions,
  ): Promise<Answer<'getCampaignTimeline'>> {
    return this.transport.call<'getCampaignTimeline'>('GET /campaigns/{campaignKey}/report/timeline', {
      ...options,
      path: { campaignKey },
      query,
    });
  }

  /** Download a campaign’s numbers as CSV. */
  export(
    campaignKey: string,
    query: Query<'exportCampaignReport'> = {},
    options?: CallOptions,
  ): Promise<Answer<'exportCampaignReport'>> {
    return this.transport.call<'exportCampaignReport'>('GET /campaigns/{campaignKey}/report/export', {
      ...options,
      path: { campaignKey },
      query,
      answerType: 'text/csv',
    });
  }

  /** Get a link to the report of a campaign. */
  link(
    campaignKey: string,
    body: Body<'createReportLink'>,
    options?: CallOptions,
  ): Promise<Answer<'createReportLink'>> {
    return this.transport.call<'createReportLink'>('POST /campaign-reports/{campaignKey}/link', {
      ...options,
      path: { campaignKey },
      json: body,
    });
  }

  /** Get numbers over campaigns and time. */
  overTime(query: Query<'getStatistics'> = {}, options?: CallOptions): Promise<Answer<'getStatistics'>> {
    return this.transport.call<'getStatistics'>('GET /statistics', { ...options, query });
  }
}

class Exports extends Resource {
  /** Export data as a file. */
  create(body: Body<'createExport'>, options?: CallOptions): Promise<Answer<'createExport'>> {
    return this.transport.call<'createExport'>('POST /exports', { ...options, json: body });
  }

  /** Get an export. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getExport'>> {
    return this.transport.call<'getExport'>('GET /exports/{id}', { ...options, path: { id } });
  }
}

class Media extends Resource {
  /** List images, newest first. */
  all(filters: Filters<'listMedia'> = {}, options?: ListOptions): List<Item<'listMedia'>> {
    return this.listOf<'listMedia'>('GET /media', filters, options);
  }

  /** Upload an image. */
  upload(
    file: Blob,
    query: Query<'uploadMedia'> = {},
    options?: CallOptions,
  ): Promise<Answer<'uploadMedia'>> {
    return this.transport.call<'uploadMedia'>('POST /media', { ...options, file, query });
  }

  /** Get an image: its URL, its size, and what uses it. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getMedia'>> {
    return this.transport.call<'getMedia'>('GET /media/{id}', { ...options, path: { id } });
  }

  /** Delete an image. */
  delete(
    id: string,
    query: Query<'deleteMedia'> = {},
    options?: CallOptions,
  ): Promise<Answer<'deleteMedia'>> {
    return this.transport.call<'deleteMedia'>('DELETE /media/{id}', { ...options, path: { id }, query });
  }
}

class Messages extends Resource {
  /** Send a message to one person. */
  send(body: Body<'sendMessage'>, options?: CallOptions): Promise<Answer<'sendMessage'>> {
    return this.transport.call<'sendMessage'>('POST /messages', { ...options, json: body });
  }

  /** List messages, newest first. */
  all(filters: Filters<'listMessages'> = {}, options?: ListOptions): List<Item<'listMessages'>> {
    return this.listOf<'listMessages'>('GET /messages', filters, options);
  }

  /** Send up to 100 messages. */
  sendBatch(body: Body<'sendMessages'>, options?: CallOptions): Promise<Answer<'sendMessages'>> {
    return this.transport.call<'sendMessages'>('POST /messages/batch', { ...options, json: body });
  }

  /** Get a message. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getMessage'>> {
    return this.transport.call<'getMessage'>('GET /messages/{id}', { ...options, path: { id } });
  }

  /** Send a message at another time. */
  reschedule(
    id: string,
    body: Body<'rescheduleMessage'>,
    options?: CallOptions,
  ): Promise<Answer<'rescheduleMessage'>> {
    return this.transport.call<'rescheduleMessage'>('PATCH /messages/{id}', {
      ...options,
      path: { id },
      json: body,
    });
  }

  /** List what became of a message, oldest first. */
  events(
    id: string,
    filters: Filters<'listMessageEvents'> = {},
    options?: ListOptions,
  ): List<Item<'listMessageEvents'>> {
    return this.listOf<'listMessageEvents'>('GET /messages/{id}/events', filters, options, { id });
  }

  /** Get the content of a message, filled in. */
  content(id: string, options?: ReadOptions): Promise<Answer<'getMessageContent'>> {
    return this.transport.call<'getMessageContent'>('GET /messages/{id}/content', {
      ...options,
      path: { id },
    });
  }

  /** Cancel a message. */
  cancel(id: string, options?: CallOptions): Promise<Answer<'cancelMessage'>> {
    return this.transport.call<'cancelMessage'>('POST /messages/{id}/cancel', { ...options, path: { id } });
  }
}

class Templates extends Resource {
  /** List templates, newest first. */
  all(filters: Filters<'listTemplates'> = {}, options?: ListOptions): List<Item<'listTemplates'>> {
    return this.listOf<'listTemplates'>('GET /templates', filters, options);
  }

  /** Create a template. */
  create(body: Body<'createTemplate'>, options?: CallOptions): Promise<Answer<'createTemplate'>> {
    return this.transport.call<'createTemplate'>('POST /templates', { ...options, json: body });
  }

  /** Review content without keeping it. */
  validate(body: Body<'validateTemplate'>, options?: CallOptions): Promise<Answer<'validateTemplate'>> {
    return this.transport.call<'validateTemplate'>('POST /templates/validate', { ...options, json: body });
  }

  /** Get a template with its draft, by its key or alias. */
  get(templateKey: string, options?: ReadOptions): Promise<Answer<'getTemplate'>> {
    return this.transport.call<'getTemplate'>('GET /templates/{templateKey}', {
      ...options,
      path: { templateKey },
    });
  }

  /** Change the draft of a template. */
  update(
    templateKey: string,
    body: Body<'updateTemplate'>,
    options?: CallOptions,
  ): Promise<Answer<'updateTemplate'>> {
    return this.transport.call<'updateTemplate'>('PATCH /templates/{templateKey}', {
      ...options,
      path: { templateKey },
      json: body,
    });
  }

  /** Delete a template. */
  delete(templateKey: string, options?: CallOptions): Promise<Answer<'deleteTemplate'>> {
    return this.transport.call<'deleteTemplate'>('DELETE /templates/{templateKey}', {
      ...options,
      path: { templateKey },
    });
  }

  /** Put the draft or an older version in use. */
  publish(
    templateKey: string,
    body: Body<'publishTemplate'>,
    options?: CallOptions,
  ): Promise<Answer<'publishTemplate'>> {
    return this.transport.call<'publishTemplate'>('POST /templates/{templateKey}/publish', {
      ...options,
      path: { templateKey },
      json: body,
    });
  }

  /** Show a template as a mail would, with data. */
  preview(
    templateKey: string,
    body: Body<'previewTemplate'>,
    options?: CallOptions,
  ): Promise<Answer<'previewTemplate'>> {
    return this.transport.call<'previewTemplate'>('POST /templates/{templateKey}/preview', {
      ...options,
      path: { templateKey },
      json: body,
    });
  }

  /** Make a link to a page that shows the template. */
  previewLink(templateKey: string, options?: CallOptions): Promise<Answer<'linkTemplatePreview'>> {
    return this.transport.call<'linkTemplatePreview'>('POST /templates/{templateKey}/preview-link', {
      ...options,
      path: { templateKey },
    });
  }

  /** Copy a template’s draft into a new one. */
  duplicate(
    templateKey: string,
    body: Body<'duplicateTemplate'>,
    options?: CallOptions,
  ): Promise<Answer<'duplicateTemplate'>> {
    return this.transport.call<'duplicateTemplate'>('POST /templates/{templateKey}/duplicate', {
      ...options,
      path: { templateKey },
      json: body,
    });
  }

  /** List the versions of a template, newest first. */
  versions(
    templateKey: string,
    filters: Filters<'listTemplateVersions'> = {},
    options?: ListOptions,
  ): List<Item<'listTemplateVersions'>> {
    return this.listOf<'listTemplateVersions'>('GET /templates/{templateKey}/versions', filters, options, {
      templateKey,
    });
  }

  /** Get a version of a template as it was published. */
  version(
    templateKey: string,
    version: number,
    options?: ReadOptions,
  ): Promise<Answer<'getTemplateVersion'>> {
    return this.transport.call<'getTemplateVersion'>('GET /templates/{templateKey}/versions/{version}', {
      ...options,
      path: { templateKey, version },
    });
  }
}

class TestInbox extends Resource {
  /** List mail of the test environment, newest first. */
  all(
    filters: Filters<'listTestInboxMessages'> = {},
    options?: ListOptions,
  ): List<Item<'listTestInboxMessages'>> {
    return this.listOf<'listTestInboxMessages'>('GET /test-inbox/messages', filters, options);
  }

  /** Empty the test inbox. */
  clear(options?: CallOptions): Promise<Answer<'clearTestInbox'>> {
    return this.transport.call<'clearTestInbox'>('DELETE /test-inbox/messages', options);
  }

  /** Get a mail of the test inbox. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getTestInboxMessage'>> {
    return this.transport.call<'getTestInboxMessage'>('GET /test-inbox/messages/{id}', {
      ...options,
      path: { id },
    });
  }

  /** Get the source of a mail of the test inbox. */
  raw(id: string, options?: CallOptions): Promise<Answer<'getRawTestInboxMessage'>> {
    return this.transport.call<'getRawTestInboxMessage'>('GET /test-inbox/messages/{id}/raw', {
      ...options,
      path: { id },
      answerType: 'message/rfc822',
    });
  }
}

class Relays extends Resource {
  /** List relays, in the order in which they are tried. */
  all(filters: Filters<'listRelays'> = {}, options?: ListOptions): List<Item<'listRelays'>> {
    return this.listOf<'listRelays'>('GET /relays', filters, options);
  }

  /** Set up a relay. */
  create(body: Body<'createRelay'>, options?: CallOptions): Promise<Answer<'createRelay'>> {
    return this.transport.call<'createRelay'>('POST /relays', { ...options, json: body });
  }

  /** Get a relay. */
  get(relayKey: string, options?: ReadOptions): Promise<Answer<'getRelay'>> {
    return this.transport.call<'getRelay'>('GET /relays/{relayKey}', { ...options, path: { relayKey } });
  }

  /** Change a relay. */
  update(relayKey: string, body: Body<'updateRelay'>, options?: CallOptions): Promise<Answer<'updateRelay'>> {
    return this.transport.call<'updateRelay'>('PATCH /relays/{relayKey}', {
      ...options,
      path: { relayKey },
      json: body,
    });
  }

  /** Delete a relay. */
  delete(relayKey: string, options?: CallOptions): Promise<Answer<'deleteRelay'>> {
    return this.transport.call<'deleteRelay'>('DELETE /relays/{relayKey}', {
      ...options,
      path: { relayKey },
    });
  }

  /** See whether a relay would take mail. */
  check(relayKey: string, options?: CallOptions): Promise<Answer<'checkRelay'>> {
    return this.transport.call<'checkRelay'>('POST /relays/{relayKey}/check', {
      ...options,
      path: { relayKey },
    });
  }

  /** Get another feedback address. */
  rotateFeedbackToken(relayKey: string, options?: CallOptions): Promise<Answer<'rotateRelayFeedbackToken'>> {
    return this.transport.call<'rotateRelayFeedbackToken'>('POST /relays/{relayKey}/rotate-feedback-token', {
      ...options,
      path: { relayKey },
    });
  }
}

class SendingDomain extends Resource {
  /** Get the sending domain. */
  get(options?: ReadOptions): Promise<Answer<'getSendingDomain'>> {
    return this.transport.call<'getSendingDomain'>('GET /sending-domain', options);
  }

  /** Set up the sending domain. */
  create(body: Body<'createSendingDomain'>, options?: CallOptions): Promise<Answer<'createSendingDomain'>> {
    return this.transport.call<'createSendingDomain'>('POST /sending-domain', { ...options, json: body });
  }

  /** Change the sending domain to another name. */
  update(body: Body<'updateSendingDomain'>, options?: CallOptions): Promise<Answer<'updateSendingDomain'>> {
    return this.transport.call<'updateSendingDomain'>('PATCH /sending-domain', { ...options, json: body });
  }

  /** Remove the sending domain. */
  delete(options?: CallOptions): Promise<Answer<'deleteSendingDomain'>> {
    return this.transport.call<'deleteSendingDomain'>('DELETE /sending-domain', options);
  }

  /** Get the DNS records to add, with instructions. */
  dnsInstructions(options?: ReadOptions): Promise<Answer<'getDnsInstructions'>> {
    return this.transport.call<'getDnsInstructions'>('GET /sending-domain/dns-instructions', options);
  }

  /** Check the DNS records now. */
  verifyDns(options?: CallOptions): Promise<Answer<'verifyDns'>> {
    return this.transport.call<'verifyDns'>('POST /sending-domain/verify-dns', options);
  }
}

class Billing extends Resource {
  /** Get the subscription. */
  subscription(options?: ReadOptions): Promise<Answer<'getSubscription'>> {
    return this.transport.call<'getSubscription'>('GET /billing/subscription', options);
  }

  /** List the plans on offer, smallest first. */
  plans(query: Query<'listPlans'> = {}, options?: CallOptions): Promise<Answer<'listPlans'>> {
    return this.transport.call<'listPlans'>('GET /billing/plans', { ...options, query });
  }

  /** List invoices, newest first. */
  invoices(filters: Filters<'listInvoices'> = {}, options?: ListOptions): List<Item<'listInvoices'>> {
    return this.listOf<'listInvoices'>('GET /billing/invoices', filters, options);
  }

  /** Get the usage of the plan. */
  usage(options?: ReadOptions): Promise<Answer<'getUsage'>> {
    return this.transport.call<'getUsage'>('GET /billing/usage', options);
  }
}

class Credits extends Resource {
  /** Get the balance of AI credits. */
  balance(options?: ReadOptions): Promise<Answer<'getCreditBalance'>> {
    return this.transport.call<'getCreditBalance'>('GET /credits/balance', options);
  }

  /** List the ledger of AI credits, newest first. */
  transactions(
    filters: Filters<'listCreditTransactions'> = {},
    options?: ListOptions,
  ): List<Item<'listCreditTransactions'>> {
    return this.listOf<'listCreditTransactions'>('GET /credits/transactions', filters, options);
  }
}

class Events extends Resource {
  /** List the events that webhooks tell of. */
  list(filters: Filters<'listEvents'> = {}, options?: ListOptions): List<Item<'listEvents'>> {
    return this.listOf<'listEvents'>('GET /events', filters, options);
  }
}

class WebhookEndpoints extends Resource {
  /** List webhook endpoints, newest first. */
  all(
    filters: Filters<'listWebhookEndpoints'> = {},
    options?: ListOptions,
  ): List<Item<'listWebhookEndpoints'>> {
    return this.listOf<'listWebhookEndpoints'>('GET /webhook-endpoints', filters, options);
  }

  /** Create a webhook endpoint. */
  create(
    body: Body<'createWebhookEndpoint'>,
    options?: CallOptions,
  ): Promise<Answer<'createWebhookEndpoint'>> {
    return this.transport.call<'createWebhookEndpoint'>('POST /webhook-endpoints', {
      ...options,
      json: body,
    });
  }

  /** Get a webhook endpoint. */
  get(id: string, options?: ReadOptions): Promise<Answer<'getWebhookEndpoint'>> {
    return this.transport.call<'getWebhookEndpoint'>('GET /webhook-endpoints/{id}', {
      ...options,
      path: { id },
    });
  }

  /** Change, disable or enable a webhook endpoint. */
  update(
    id: string,
    body: Body<'updateWebhookEndpoint'>,
    options?: CallOptions,
  ): Promise<Answer<'updateWebhookEndpoint'>> {
    return this.transport.call<'updateWebhookEndpoint'>('PATCH /webhook-endpoints/{id}', {
      ...options,
      path: { id },
      json: body,
    });
  }

  /** Delete a webhook endpoint. */
  delete(id: string, options?: CallOptions): Promise<Answer<'deleteWebhookEndpoint'>> {
    return this.transport.call<'deleteWebhookEndpoint'>('DELETE /webhook-endpoints/{id}', {
      ...options,
      path: { id },
    });
  }

  /** Get a new signing secret. */
  rotateSecret(
    id: string,
    body: Body<'rotateWebhookSecret'>,
    options?: CallOptions,
  ): Promise<Answer<'rotateWebhookSecret'>> {
    return this.transport.call<'rotateWebhookSecret'>('POST /webhook-endpoints/{id}/rotate-secret', {
      ...options,
      path: { id },
      json: body,
    });
  }

  /** Post a test to a webhook endpoint. */
  test(id: string, options?: CallOptions): Promise<Answer<'testWebhookEndpoint'>> {
    return this.transport.call<'testWebhookEndpoint'>('POST /webhook-endpoints/{id}/test', {
      ...options,
      path: { id },
    });
  }

  /** List the deliveries to a webhook endpoint, newest first. */
  deliveries(
    id: string,
    filters: Filters<'listWebhookDeliveries'> = {},
    options?: ListOptions,
  ): List<Item<'listWebhookDeliveries'>> {
    return this.listOf<'listWebhookDeliveries'>('GET /webhook-endpoints/{id}/deliveries', filters, options, {
      id,
    });
  }

  /** Post a delivery once more. */
  replayDelivery(
    id: string,
    deliveryId: string,
    options?: CallOptions,
  ): Promise<Answer<'replayWebhookDelivery'>> {
    return this.transport.call<'replayWebhookDelivery'>(
      'POST /webhook-endpoints/{id}/deliveries/{deliveryId}/replay',
      { ...options, path: { id, deliveryId } },
    );
  }

  /** Post once more what a webhook endpoint did not accept. */
  replay(id: string, body: Body<'replayWebhooks'>, options?: CallOptions): Promise<Answer<'replayWebhooks'>> {
    return this.transport.call<'replayWebhooks'>('POST /webhook-endpoints/{id}/replay', {
      ...options,
      path: { id },
      json: body,
    });
  }
}

/** The operations of the API, by what they are about. */
export abstract class Resources extends Resource {
  readonly apiKeys = new ApiKeys(this.transport);
  readonly project = new Project(this.transport);
  readonly projectTexts = new ProjectTexts(this.transport);
  readonly auditLog = new AuditLog(this.transport);
  readonly requests = new Requests(this.transport);
  readonly topics = new Topics(this.transport);
  readonly subscribers = new Subscribers(this.transport);
  readonly imports = new Imports(this.transport);
  readonly suppressions = new Suppressions(this.transport);
  readonly consents = new Consents(this.transport);
  readonly customFields = new CustomFields(this.transport);
  readonly segments = new Segments(this.transport);
  readonly automations = new Automations(this.transport);
  readonly campaigns = new Campaigns(this.transport);
  readonly reports = new Reports(this.transport);
  readonly exports = new Exports(this.transport);
  readonly media = new Media(this.transport);
  readonly messages = new Messages(this.transport);
  readonly templates = new Templates(this.transport);
  readonly testInbox = new TestInbox(this.transport);
  readonly relays = new Relays(this.transport);
  readonly sendingDomain = new SendingDomain(this.transport);
  readonly billing = new Billing(this.transport);
  readonly credits = new Credits(this.transport);
  readonly events = new Events(this.transport);
  readonly webhookEndpoints = new WebhookEndpoints(this.transport);
}
