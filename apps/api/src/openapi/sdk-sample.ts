import type { OperationEntry } from './document.js';

/** The SDK's method for each operation. */
const SDK_METHODS: Readonly<Record<string, string>> = {
  getProject: 'project',
  updateProject: 'updateProject',
  getProjectTexts: 'projectTexts.get',
  updateProjectTexts: 'projectTexts.update',
  listTopics: 'topics.all',
  createTopic: 'topics.create',
  getTopic: 'topics.get',
  updateTopic: 'topics.update',
  deleteTopic: 'topics.delete',
  listSubscribers: 'subscribers.all',
  createSubscriber: 'subscribers.create',
  getSubscriber: 'subscribers.get',
  updateSubscriber: 'subscribers.update',
  eraseSubscriber: 'subscribers.erase',
  importSubscribers: 'imports.rows',
  getImport: 'imports.get',
  listImportErrors: 'imports.errors',
  recordSubscriberEvent: 'subscribers.recordEvent',
  getConsents: 'consents.of',
  grantConsent: 'consents.grant',
  revokeConsent: 'consents.revoke',
  resendConfirmation: 'consents.resend',
  listCustomFields: 'customFields.all',
  createCustomField: 'customFields.create',
  getCustomField: 'customFields.get',
  archiveCustomField: 'customFields.archive',
  updateCustomFieldDetails: 'customFields.updateDetails',
  updateCustomFieldConfig: 'customFields.updateConfig',
  listSegments: 'segments.all',
  createSegment: 'segments.create',
  previewSegment: 'segments.preview',
  getSegment: 'segments.get',
  updateSegment: 'segments.update',
  deleteSegment: 'segments.delete',
  listSegmentMembers: 'segments.members',
  addSegmentMembers: 'segments.addMembers',
  deleteSegmentMembers: 'segments.removeMembers',
  removeSegmentMembers: 'segments.removeMembers',
  listSuppressions: 'suppressions.all',
  suppress: 'suppressions.add',
  getSuppression: 'suppressions.get',
  unsuppress: 'suppressions.remove',
  listAutomations: 'automations.all',
  createAutomation: 'automations.create',
  getAutomation: 'automations.get',
  updateAutomation: 'automations.update',
  deleteAutomation: 'automations.delete',
  updateAutomationContent: 'automations.updateContent',
  activateAutomation: 'automations.activate',
  pauseAutomation: 'automations.pause',
  listCampaigns: 'campaigns.all',
  createCampaign: 'campaigns.create',
  getCampaign: 'campaigns.get',
  updateCampaign: 'campaigns.update',
  deleteCampaign: 'campaigns.delete',
  analyseCampaign: 'campaigns.analyse',
  previewCampaign: 'campaigns.preview',
  scheduleCampaign: 'campaigns.schedule',
  sendCampaign: 'campaigns.send',
  cancelCampaign: 'campaigns.cancel',
  pauseCampaign: 'campaigns.pause',
  resumeCampaign: 'campaigns.resume',
  retryFailedDeliveries: 'campaigns.retryFailed',
  testCampaign: 'campaigns.test',
  listDeliveries: 'campaigns.deliveries',
  listAutomationExecutions: 'automations.executions',
  enterAutomation: 'automations.enter',
  getCampaignReport: 'reports.get',
  requestCampaignReport: 'reports.request',
  getCampaignStatistics: 'reports.statistics',
  getCampaignLanguages: 'reports.languages',
  getCampaignTimeline: 'reports.timeline',
  exportCampaignReport: 'reports.export',
  listTestInboxMessages: 'testInbox.all',
  clearTestInbox: 'testInbox.clear',
  getTestInboxMessage: 'testInbox.get',
  getRawTestInboxMessage: 'testInbox.raw',
  getSendingDomain: 'sendingDomain.get',
  createSendingDomain: 'sendingDomain.create',
  updateSendingDomain: 'sendingDomain.update',
  deleteSendingDomain: 'sendingDomain.delete',
  getDnsInstructions: 'sendingDomain.dnsInstructions',
  listRelays: 'relays.all',
  createRelay: 'relays.create',
  getRelay: 'relays.get',
  updateRelay: 'relays.update',
  deleteRelay: 'relays.delete',
  checkRelay: 'relays.check',
  rotateRelayFeedbackToken: 'relays.rotateFeedbackToken',
  verifyDns: 'sendingDomain.verifyDns',
  getSubscription: 'billing.subscription',
  listPlans: 'billing.plans',
  listInvoices: 'billing.invoices',
  getUsage: 'billing.usage',
  getCreditBalance: 'credits.balance',
  listCreditTransactions: 'credits.transactions',
};

/** A sample that calls the operation with the SDK; null when the SDK has no method for it. */
export function sdkSample({ operationId, parameters = [], requestBody }: OperationEntry): string | null {
  const method = SDK_METHODS[operationId];
  if (method === undefined) return null;
  const values = parameters.filter((parameter) => parameter.in === 'path').map(({ example }) => example);
  const body = requestBody?.content['application/json']?.example;
  if (body !== undefined) values.push(body);
  const call = `mailwright.${method}(${values.map(literal).join(', ')})`;
  const isList = parameters.some(({ name }) => name === 'page');
  return `import { Mailwright } from '@mailwright/sdk';

const mailwright = new Mailwright({
  apiKey: process.env.MAILWRIGHT_KEY ?? '',
  baseUrl: process.env.MAILWRIGHT_URL ?? '',
});

${isList ? `for await (const item of ${call}) console.log(item);` : `console.log(await ${call});`}`;
}

/** JSON in the style of TypeScript. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) =>
      text.includes("'") ? text : `'${text.slice(1, -1).replaceAll(String.raw`\"`, '"')}'`,
    );
}
