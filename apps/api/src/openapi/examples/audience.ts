import type { z } from 'zod';
import type {
  consentPreferencesView,
  consentRecordPage,
  grantConsentBody,
  grantedConsentView,
  revokeAllBody,
  revokedView,
} from '../../audience/consents.dto.js';
import type {
  createSubscriberBody,
  subscriberView,
  updateSubscriberBody,
  upsertSubscriberBody,
} from '../../audience/subscribers.dto.js';
import type {
  recordedEventsView,
  recordedEventView,
  recordEventBody,
  recordEventsBody,
} from '../../audience/subscriber-events.dto.js';
import type {
  acceptedImportView,
  acceptedSuppressionImportView,
  importBody,
  importErrorPage,
  importView,
  suppressionImportView,
} from '../../audience/imports.dto.js';
import type {
  suppressAllBody,
  suppressBody,
  suppressedView,
  suppressionView,
} from '../../audience/suppressions.dto.js';
import type { createTopicBody, topicView, updateTopicBody } from '../../audience/topics.dto.js';
import { firstPage, onePage, type WrittenExamples } from './written-example.js';

export const TOPIC_ID = '019bb13c-a3e0-7d55-9c3e-2f6b8a4d1e91';
export const ADA_ID = '019c1dd9-34a0-7f08-9c3e-2f6b8a4d1e93';
export const GRACE_ID = '019c47da-1ad0-7b92-9c3e-2f6b8a4d1e94';
export const IMPORT_ID = '019c47da-1300-7c1e-9c3e-2f6b8a4d1e95';
export const SUPPRESSION_IMPORT_ID = '019c4d00-6f00-7c1e-9c3e-2f6b8a4d1e95';

const NEW_TOPIC = {
  name: 'Product news',
  description: 'The news of our products, once a month',
  translations: {
    de: { name: 'Produktneuheiten', description: 'Neues von unseren Produkten, einmal im Monat' },
  },
} satisfies z.input<typeof createTopicBody>;

const CREATED_TOPIC = {
  id: TOPIC_ID,
  topicKey: 'APIT-1',
  ...NEW_TOPIC,
  status: 'ACTIVE',
  visibility: 'PUBLIC',
  priority: null,
  icon: null,
  doubleOptInEnabled: true,
  optInTemplateKey: null,
  metadata: {},
  subscriberCount: 0,
  activeSubscriberCount: 0,
  createdAt: '2026-01-12T08:05:00.000Z',
} satisfies z.output<typeof topicView>;

const TOPIC_CHANGES = { icon: 'megaphone', priority: 'HIGH' } satisfies z.input<typeof updateTopicBody>;

const TOPIC = {
  ...CREATED_TOPIC,
  ...TOPIC_CHANGES,
  subscriberCount: 1_290,
  activeSubscriberCount: 1_252,
} satisfies z.output<typeof topicView>;

const NEW_SUBSCRIBER = {
  email: 'ada@example.com',
  externalId: 'customer-4711',
  firstName: 'Ada',
  lastName: 'Lovelace',
  locale: 'en-GB',
  timeZone: 'Europe/London',
  customFields: { plan: 'pro' },
  metadata: { crmId: '4711' },
  topicKeys: ['APIT-1'],
  consent: {
    source: 'signup-form',
    sourceUrl: 'https://example.com/newsletter',
    ipAddress: '203.0.113.7',
    consentText: 'Send me product news.',
  },
} satisfies z.input<typeof createSubscriberBody>;

/** Fresh from a sign-up with a topic that asks for confirmation. */
const CREATED_SUBSCRIBER = {
  id: ADA_ID,
  subscriberKey: 'APIT-1',
  email: 'ada@example.com',
  externalId: 'customer-4711',
  firstName: 'Ada',
  lastName: 'Lovelace',
  phone: null,
  locale: 'en-GB',
  timeZone: 'Europe/London',
  status: 'PENDING_CONFIRMATION',
  source: 'API',
  customFields: { plan: 'pro' },
  metadata: { crmId: '4711' },
  createdAt: '2026-02-02T10:15:00.000Z',
  updatedAt: '2026-02-02T10:15:00.000Z',
} satisfies z.output<typeof subscriberView>;

const SUBSCRIBER_CHANGES = {
  phone: '+442079460958',
  customFields: { plan: 'team' },
} satisfies z.input<typeof updateSubscriberBody>;

const SUBSCRIBER_UPSERT = {
  ...SUBSCRIBER_CHANGES,
  topicKeys: ['APIT-1'],
  consent: { source: 'account-page' },
} satisfies z.input<typeof upsertSubscriberBody>;

/** After the click on the link in the opt-in mail. */
export const SUBSCRIBER = {
  ...CREATED_SUBSCRIBER,
  ...SUBSCRIBER_CHANGES,
  status: 'ACTIVE',
  updatedAt: '2026-02-12T11:25:00.000Z',
} satisfies z.output<typeof subscriberView>;

const NEW_CONSENT = { topicKey: 'APIT-2', source: 'account-page' } satisfies z.input<typeof grantConsentBody>;

const GRANTED_CONSENT = {
  topicKey: 'APIT-2',
  status: 'PENDING_CONFIRMATION',
  requiresConfirmation: true,
  grantedAt: '2026-02-12T11:26:00.000Z',
  confirmedAt: null,
  tokenExpiresAt: '2026-02-14T11:26:00.000Z',
} satisfies z.output<typeof grantedConsentView>;

const CONSENTS = {
  subscriberEmail: 'ada@example.com',
  globallySuppressed: false,
  consents: [
    {
      topicKey: 'APIT-2',
      topicName: 'Events',
      status: 'PENDING_CONFIRMATION',
      grantedAt: '2026-02-12T11:26:00.000Z',
      confirmedAt: null,
      revokedAt: null,
      textLocale: null,
      textVersion: null,
    },
    {
      topicKey: 'APIT-1',
      topicName: 'Product news',
      status: 'SUBSCRIBED',
      grantedAt: '2026-02-02T10:15:00.000Z',
      confirmedAt: '2026-02-02T10:19:00.000Z',
      revokedAt: null,
      textLocale: 'en',
      textVersion: 1,
    },
  ],
} satisfies z.output<typeof consentPreferencesView>;

const NEW_IMPORT = {
  rows: [
    { email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper', customFields: { plan: 'team' } },
    { email: 'ada@example.com', firstName: 'Ada' },
    { email: 'alan@example', firstName: 'Alan' },
  ],
  topicKeys: ['APIT-1'],
  consent: { source: 'trade-fair' },
} satisfies z.input<typeof importBody>;

const ACCEPTED_IMPORT = {
  id: IMPORT_ID,
  status: 'QUEUED',
  counts: { total: 3, created: 0, updated: 0, skipped: 0, failed: 0 },
} satisfies z.output<typeof acceptedImportView>;

const IMPORT = {
  id: IMPORT_ID,
  status: 'COMPLETED',
  counts: { total: 3, created: 1, updated: 1, skipped: 0, failed: 1 },
  failureReason: null,
  createdAt: '2026-02-10T14:00:00.000Z',
  completedAt: '2026-02-10T14:00:02.000Z',
} satisfies z.output<typeof importView>;

const ACCEPTED_SUPPRESSIONS = {
  id: SUPPRESSION_IMPORT_ID,
  status: 'QUEUED',
  counts: { total: 3, suppressed: 0, skipped: 0, failed: 0 },
} satisfies z.output<typeof acceptedSuppressionImportView>;

const SUPPRESSION_IMPORT = {
  id: SUPPRESSION_IMPORT_ID,
  status: 'COMPLETED',
  counts: { total: 3, suppressed: 2, skipped: 0, failed: 1 },
  failureReason: null,
  createdAt: '2026-02-11T14:00:00.000Z',
  completedAt: '2026-02-11T14:00:02.000Z',
} satisfies z.output<typeof suppressionImportView>;

const SUPPRESSION_IMPORT_ERRORS = onePage({
  row: 3,
  line: 4,
  email: null,
  errors: { email: 'does not have a valid domain' },
}) satisfies z.output<typeof importErrorPage>;

const CONSENT_RECORDS = onePage({
  id: '019c5199-cd40-7a42-9d57-3b1f6c8e2a04',
  topicKey: 'APIT-2',
  fromStatus: null,
  toStatus: 'PENDING_CONFIRMATION',
  actor: 'API_KEY',
  actorId: '019bf3c4-5d60-7c11-8a2e-4f9b7d3e6a15',
  source: 'account-page',
  sourceUrl: null,
  ipAddress: null,
  userAgent: null,
  consentText: null,
  formVersion: null,
  messageId: null,
  textLocale: null,
  textVersion: null,
  addressChange: null,
  occurredAt: '2026-02-12T11:26:00.000Z',
  createdAt: '2026-02-12T11:26:00.000Z',
  updatedAt: '2026-02-12T11:26:00.000Z',
}) satisfies z.output<typeof consentRecordPage>;

const IMPORT_ERRORS = onePage({
  row: 3,
  line: null,
  email: null,
  errors: { email: 'does not have a valid domain' },
}) satisfies z.output<typeof importErrorPage>;

const EVENT = {
  name: 'order.completed',
  properties: { plan: 'team', total: 49 },
} satisfies z.input<typeof recordEventBody>;

const RECORDED_EVENT = {
  id: '019c519d-76c0-7d55-9c3e-2f6b8a4d1e96',
} satisfies z.output<typeof recordedEventView>;

const EVENTS = {
  events: [
    {
      email: 'ada@example.com',
      name: 'order.completed',
      properties: { total: 62.5, items: [{ sku: 'A1', quantity: 2 }] },
      occurredAt: '2026-02-14T09:12:00Z',
      uniqueId: 'order-1042',
    },
    { email: 'grace@example.com', name: 'cart.left', uniqueId: 'cart-77' },
    { email: 'alan@example.com', name: 'cart.left', uniqueId: 'cart-78' },
  ],
} satisfies z.input<typeof recordEventsBody>;

const RECORDED_EVENTS = {
  accepted: 2,
  repeated: 0,
  errors: [{ index: 2, errors: { 'events[2].email': 'is not a known subscriber' } }],
} satisfies z.output<typeof recordedEventsView>;

const NEW_SUPPRESSION = {
  email: 'bob@example.com',
  reason: 'SPAM_COMPLAINT',
} satisfies z.input<typeof suppressBody>;

const SUPPRESSION = {
  email: 'bob@example.com',
  suppressed: true,
  reason: 'SPAM_COMPLAINT',
  streams: 'MARKETING',
  suppressedAt: '2026-02-17T07:50:00.000Z',
} satisfies z.output<typeof suppressionView>;

const NEW_SUPPRESSIONS = {
  suppressions: [{ email: 'bob@example.com', reason: 'SPAM_COMPLAINT' }, { email: 'Bob@example.com' }],
} satisfies z.input<typeof suppressAllBody>;

const SUPPRESSIONS = {
  results: [
    { index: 0, suppression: SUPPRESSION },
    {
      index: 1,
      problem: {
        type: 'https://mailwright.example/problems/domain-validation',
        title: 'The project does not allow this',
        status: 422,
        detail: 'The request is well-formed, but this project does not allow it.',
        errors: { 'suppressions[1].email': 'is named twice: the first one counts' },
      },
    },
  ],
} satisfies z.output<typeof suppressedView>;

const REVOCATIONS = {
  revocations: [
    { email: 'ada@example.com', topicKey: 'APIT-1' },
    { email: 'nobody@example.com', topicKey: 'APIT-1' },
  ],
} satisfies z.input<typeof revokeAllBody>;

const REVOKED = {
  results: [
    { index: 0, email: 'ada@example.com', topicKey: 'APIT-1', revoked: true },
    {
      index: 1,
      problem: { type: 'https://mailwright.example/problems/not-found', title: 'Not found', status: 404 },
    },
  ],
} satisfies z.output<typeof revokedView>;

export const AUDIENCE_EXAMPLES: WrittenExamples = {
  listTopics: { answer: onePage(TOPIC) },
  createTopic: { body: NEW_TOPIC, answer: CREATED_TOPIC },
  getTopic: { answer: TOPIC },
  updateTopic: { body: TOPIC_CHANGES, answer: TOPIC },
  listSubscribers: { answer: firstPage(1_310, SUBSCRIBER) },
  createSubscriber: { body: NEW_SUBSCRIBER, answer: CREATED_SUBSCRIBER },
  getSubscriber: { answer: SUBSCRIBER },
  upsertSubscriber: { body: SUBSCRIBER_UPSERT, answer: SUBSCRIBER },
  updateSubscriber: { body: SUBSCRIBER_CHANGES, answer: SUBSCRIBER },
  getConsents: { answer: CONSENTS },
  listConsentRecords: { answer: CONSENT_RECORDS },
  grantConsent: { body: NEW_CONSENT, answer: GRANTED_CONSENT },
  importSubscribers: { body: NEW_IMPORT, answer: ACCEPTED_IMPORT },
  getImport: { answer: IMPORT },
  listImportErrors: { answer: IMPORT_ERRORS },
  importSuppressions: { answer: ACCEPTED_SUPPRESSIONS },
  getSuppressionImport: { answer: SUPPRESSION_IMPORT },
  listSuppressionImportErrors: { answer: SUPPRESSION_IMPORT_ERRORS },
  recordSubscriberEvent: { body: EVENT, answer: RECORDED_EVENT },
  recordSubscriberEvents: { body: EVENTS, answer: RECORDED_EVENTS },
  listSuppressions: { answer: onePage(SUPPRESSION) },
  suppress: { body: NEW_SUPPRESSION, answer: SUPPRESSION },
  suppressAll: { body: NEW_SUPPRESSIONS, answer: SUPPRESSIONS },
  revokeConsents: { body: REVOCATIONS, answer: REVOKED },
  getSuppression: { answer: SUPPRESSION },
};
