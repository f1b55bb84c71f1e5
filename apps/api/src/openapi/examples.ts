import { type MediaType, type OpenApiDocument, operationsOf } from './document.js';
import { ACCESS_EXAMPLES, SHOP_KEY_ID } from './examples/access.js';
import { AUDIENCE_EXAMPLES, IMPORT_ID, SUPPRESSION_IMPORT_ID } from './examples/audience.js';
import { AUTOMATION_EXAMPLES, AUTOMATION_ID } from './examples/automations.js';
import { BILLING_EXAMPLES } from './examples/billing.js';
import { CAMPAIGN_EXAMPLES } from './examples/campaigns.js';
import { DELIVERABILITY_EXAMPLES } from './examples/deliverability.js';
import { IMAGE_ID, MEDIA_EXAMPLES } from './examples/media.js';
import { MESSAGE_EXAMPLES, SENT_MESSAGE_ID } from './examples/messages.js';
import { OPERATED, OPERATOR_EXAMPLES } from './examples/operator.js';
import { PEOPLE_EXAMPLES } from './examples/people.js';
import { EXPORT_ID, MESSAGE_ID, REPORT_EXAMPLES } from './examples/reports.js';
import { SEGMENT_EXAMPLES, SEGMENT_ID, STATIC_SEGMENT_ID } from './examples/segments.js';
import { TEMPLATE_EXAMPLES } from './examples/templates.js';
import { DELIVERY_ID, ENDPOINT_ID, WEBHOOK_EXAMPLES } from './examples/webhooks.js';
import type { WrittenExamples } from './examples/written-example.js';
import { sdkSample } from './request-samples.js';

/**
 * One story: Acme's project APIT writes to Ada Lovelace and others about its topic APIT-1, by the campaign APIT-001. An
 * answer shows what the request beside it leaves behind.
 */
const WRITTEN: WrittenExamples = {
  ...ACCESS_EXAMPLES,
  ...AUDIENCE_EXAMPLES,
  ...PEOPLE_EXAMPLES,
  ...SEGMENT_EXAMPLES,
  ...AUTOMATION_EXAMPLES,
  ...CAMPAIGN_EXAMPLES,
  ...REPORT_EXAMPLES,
  ...DELIVERABILITY_EXAMPLES,
  ...BILLING_EXAMPLES,
  ...MESSAGE_EXAMPLES,
  ...MEDIA_EXAMPLES,
  ...TEMPLATE_EXAMPLES,
  ...WEBHOOK_EXAMPLES,
  ...OPERATOR_EXAMPLES,
};

/** Values of path parameters, by the part of the path that has them; the first one counts. */
const IN_PATHS: Readonly<Record<string, string | number>> = {
  'tenants/{tenantKey}': OPERATED.tenantKey,
  'projects/{projectId}': OPERATED.projectId,
  'operator/v1/api-keys/{id}': OPERATED.keyId,
  'invoices/{invoiceNumber}': OPERATED.invoiceNumber,
  'sending-domains/{environmentId}': OPERATED.liveEnvironmentId,
  'checks/{name}': 'credits',
  'texts/{locale}': 'en',
  'api-keys/{id}': SHOP_KEY_ID,
  'topics/{topicKey}': 'APIT-1',
  'consents/{topicKey}': 'APIT-1',
  'subscribers/{email}': 'ada@example.com',
  'subscriber-imports/{id}': IMPORT_ID,
  'suppression-imports/{id}': SUPPRESSION_IMPORT_ID,
  'custom-fields/{key}': 'plan',
  '{segmentId}/members': STATIC_SEGMENT_ID,
  'segments/{segmentId}': SEGMENT_ID,
  'suppressions/{email}': 'bob@example.com',
  'automations/{automationId}': AUTOMATION_ID,
  'campaigns/{campaignKey}': 'APIT-001',
  'campaign-reports/{campaignKey}': 'APIT-001',
  'test-inbox/messages/{id}': MESSAGE_ID,
  'messages/{id}': SENT_MESSAGE_ID,
  'media/{id}': IMAGE_ID,
  'exports/{id}': EXPORT_ID,
  'relays/{relayKey}': 'APIT-1',
  'templates/{templateKey}': 'APIT-1',
  'versions/{version}': 1,
  'webhook-endpoints/{id}': ENDPOINT_ID,
  'deliveries/{deliveryId}': DELIVERY_ID,
};

/** Adds the written examples to bodies, answers and paths, and a code sample to every operation. */
export function addExamples(document: OpenApiDocument): void {
  for (const { path, operation } of operationsOf(document)) {
    const { body, answer } = WRITTEN[operation.operationId] ?? {};
    show(operation.requestBody?.content, body);
    for (const { content } of Object.values(operation.responses)) show(content, answer);
    for (const parameter of operation.parameters ?? []) {
      const part = `{${parameter.name}}`;
      const place = Object.keys(IN_PATHS).find((one) => one.includes(part) && path.includes(one));
      if (parameter.in === 'path' && place !== undefined) parameter.example = IN_PATHS[place];
    }
    const source = sdkSample(path, operation);
    if (source !== null) operation['x-codeSamples'] = [{ lang: 'typescript', label: 'TypeScript', source }];
  }
}

/** Only JSON has an example. */
function show(content: Record<string, MediaType> | undefined, example: unknown): void {
  const media = content?.['application/json'];
  if (media !== undefined && example !== undefined) media.example = example;
}
