import type { components, operations } from './api-types.js';

export type OperationId = keyof operations;
export type Schemas = components['schemas'];

/** Method and path of every operation. That none is missing is checked by the compiler. */
export const ROUTES = {
  getProject: 'GET /project',
  updateProject: 'PATCH /project',
  getProjectTexts: 'GET /project/texts/{locale}',
  updateProjectTexts: 'PUT /project/texts/{locale}',
  listTopics: 'GET /topics',
  createTopic: 'POST /topics',
  getTopic: 'GET /topics/{topicKey}',
  updateTopic: 'PATCH /topics/{topicKey}',
  deleteTopic: 'DELETE /topics/{topicKey}',
  listSubscribers: 'GET /subscribers',
  createSubscriber: 'POST /subscribers',
  getSubscriber: 'GET /subscribers/{email}',
  updateSubscriber: 'PATCH /subscribers/{email}',
  eraseSubscriber: 'DELETE /subscribers/{email}',
  importSubscribers: 'POST /subscriber-imports',
  getImport: 'GET /subscriber-imports/{id}',
  listImportErrors: 'GET /subscriber-imports/{id}/errors',
  recordSubscriberEvent: 'POST /subscribers/{email}/events',
  getConsents: 'GET /subscribers/{email}/consents',
  grantConsent: 'POST /subscribers/{email}/consents',
  revokeConsent: 'DELETE /subscribers/{email}/consents/{topicKey}',
  resendConfirmation: 'POST /subscribers/{email}/consents/{topicKey}/resend',
  listCustomFields: 'GET /custom-fields',
  createCustomField: 'POST /custom-fields',
  getCustomField: 'GET /custom-fields/{key}',
  archiveCustomField: 'DELETE /custom-fields/{key}',
  updateCustomFieldDetails: 'PATCH /custom-fields/{key}/details',
  updateCustomFieldConfig: 'PATCH /custom-fields/{key}/config',
  listSegments: 'GET /segments',
  createSegment: 'POST /segments',
  previewSegment: 'POST /segments/preview',
  getSegment: 'GET /segments/{segmentId}',
  updateSegment: 'PATCH /segments/{segmentId}',
  deleteSegment: 'DELETE /segments/{segmentId}',
  listSegmentMembers: 'GET /segments/{segmentId}/members',
  addSegmentMembers: 'POST /segments/{segmentId}/members',
  deleteSegmentMembers: 'DELETE /segments/{segmentId}/members',
  removeSegmentMembers: 'POST /segments/{segmentId}/members/remove',
  listSuppressions: 'GET /suppressions',
  suppress: 'POST /suppressions',
  getSuppression: 'GET /suppressions/{email}',
  unsuppress: 'DELETE /suppressions/{email}',
  listCampaigns: 'GET /campaigns',
  createCampaign: 'POST /campaigns',
  getCampaign: 'GET /campaigns/{campaignKey}',
  updateCampaign: 'PATCH /campaigns/{campaignKey}',
  deleteCampaign: 'DELETE /campaigns/{campaignKey}',
  analyseCampaign: 'GET /campaigns/{campaignKey}/pre-send-analysis',
  previewCampaign: 'GET /campaigns/{campaignKey}/preview',
  scheduleCampaign: 'POST /campaigns/{campaignKey}/schedule',
  sendCampaign: 'POST /campaigns/{campaignKey}/send',
  cancelCampaign: 'POST /campaigns/{campaignKey}/cancel',
  pauseCampaign: 'POST /campaigns/{campaignKey}/pause',
  resumeCampaign: 'POST /campaigns/{campaignKey}/resume',
  retryFailedDeliveries: 'POST /campaigns/{campaignKey}/retry-failed',
  testCampaign: 'POST /campaigns/{campaignKey}/test',
  listDeliveries: 'GET /campaigns/{campaignKey}/deliveries',
  getCampaignStatistics: 'GET /campaigns/{campaignKey}/report/statistics',
  getCampaignLanguages: 'GET /campaigns/{campaignKey}/report/languages',
  getCampaignTimeline: 'GET /campaigns/{campaignKey}/report/timeline',
  exportCampaignReport: 'GET /campaigns/{campaignKey}/report/export',
  getCampaignReport: 'GET /campaigns/{campaignKey}/report',
  requestCampaignReport: 'POST /campaigns/{campaignKey}/report',
  listAutomations: 'GET /automations',
  createAutomation: 'POST /automations',
  getAutomation: 'GET /automations/{automationId}',
  updateAutomation: 'PATCH /automations/{automationId}',
  deleteAutomation: 'DELETE /automations/{automationId}',
  updateAutomationContent: 'PATCH /automations/{automationId}/content',
  activateAutomation: 'POST /automations/{automationId}/activate',
  pauseAutomation: 'POST /automations/{automationId}/pause',
  listAutomationExecutions: 'GET /automations/{automationId}/executions',
  enterAutomation: 'POST /automations/{automationId}/executions',
  getSendingDomain: 'GET /sending-domain',
  createSendingDomain: 'POST /sending-domain',
  updateSendingDomain: 'PATCH /sending-domain',
  deleteSendingDomain: 'DELETE /sending-domain',
  getDnsInstructions: 'GET /sending-domain/dns-instructions',
  verifyDns: 'POST /sending-domain/verify-dns',
  listRelays: 'GET /relays',
  createRelay: 'POST /relays',
  getRelay: 'GET /relays/{relayKey}',
  updateRelay: 'PATCH /relays/{relayKey}',
  deleteRelay: 'DELETE /relays/{relayKey}',
  checkRelay: 'POST /relays/{relayKey}/check',
  rotateRelayFeedbackToken: 'POST /relays/{relayKey}/rotate-feedback-token',
  getSubscription: 'GET /billing/subscription',
  listPlans: 'GET /billing/plans',
  listInvoices: 'GET /billing/invoices',
  getUsage: 'GET /billing/usage',
  getCreditBalance: 'GET /credits/balance',
  listCreditTransactions: 'GET /credits/transactions',
  listTestInboxMessages: 'GET /test-inbox/messages',
  clearTestInbox: 'DELETE /test-inbox/messages',
  getTestInboxMessage: 'GET /test-inbox/messages/{id}',
  getRawTestInboxMessage: 'GET /test-inbox/messages/{id}/raw',
} as const satisfies Record<OperationId, `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`>;

type JsonOf<Content> = Content extends { 'application/json': infer Json } ? Json : never;
type Success<Id extends OperationId> = operations[Id]['responses'] extends infer Responses
  ? Responses[keyof Responses & (200 | 201 | 202 | 204)]
  : never;

/** The JSON body of an operation. */
export type Body<Id extends OperationId> = operations[Id] extends {
  requestBody?: { content: infer Content };
}
  ? JsonOf<Content>
  : never;

/** The answer of an operation: its JSON, text where it is none, nothing with 204. */
export type Answer<Id extends OperationId> =
  Success<Id> extends { content: infer Content }
    ? [JsonOf<Content>] extends [never]
      ? [keyof Content] extends [never]
        ? undefined
        : string
      : JsonOf<Content>
    : undefined;

/** The query parameters of an operation. */
export type Query<Id extends OperationId> = operations[Id]['parameters'] extends { query?: infer Parameters }
  ? NonNullable<Parameters>
  : never;

/** One element of a list. */
export type Item<Id extends OperationId> = Answer<Id> extends { data: (infer Element)[] } ? Element : never;
