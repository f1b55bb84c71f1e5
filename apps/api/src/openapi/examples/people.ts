import type { z } from 'zod';
import type { activityPage, personExportView } from '../../messaging/person.dto.js';
import { ADA_ID, SUBSCRIBER } from './audience.js';
import { CAMPAIGN_ID } from './campaigns.js';
import { firstPage, type WrittenExamples } from './written-example.js';

const MAIL_ID = '019cad8f-ac00-7b21-8c4e-5d6f7a8b9c0d';
const MESSAGE_ID = '<019cad8f-ac00-7b21-8c4e-5d6f7a8b9c0d.2026-03-02@mail.acme.example>';

const CHANGE = {
  id: '019c5198-e2e0-7a42-9d57-3b1f6c8e2a05',
  occurredAt: '2026-02-12T11:25:00.000Z',
  actor: 'API_KEY',
  actorId: '019bf3c4-5d60-7c11-8a2e-4f9b7d3e6a15',
  changes: { phone: { from: null, to: '+442079460958' }, 'customFields.plan': { from: 'pro', to: 'team' } },
} satisfies z.output<typeof personExportView>['fieldChanges'][number];

/** After the campaign. */
const PERSON = {
  subscriber: { ...SUBSCRIBER, pausedUntil: null },
  suppression: {
    email: 'ada@example.com',
    suppressed: false,
    reason: null,
    streams: null,
    suppressedAt: null,
  },
  consents: [
    {
      topicKey: 'APIT-1',
      topicName: 'Product news',
      status: 'SUBSCRIBED',
      grantedAt: '2026-02-02T10:15:00.000Z',
      confirmedAt: '2026-02-02T10:19:00.000Z',
      revokedAt: null,
      subscribedAt: '2026-02-02T10:19:00.000Z',
      tokenExpiresAt: '2026-02-04T10:15:00.000Z',
    },
  ],
  consentRecord: [
    {
      id: '019c1dd9-34a0-7a42-9d57-3b1f6c8e2a04',
      occurredAt: '2026-02-02T10:15:00.000Z',
      topicKey: 'APIT-1',
      topicName: 'Product news',
      from: null,
      to: 'PENDING_CONFIRMATION',
      actor: 'API_KEY',
      actorId: '019bf3c4-5d60-7c11-8a2e-4f9b7d3e6a15',
      source: 'signup-form',
      sourceUrl: 'https://example.com/newsletter',
      ipAddress: '203.0.113.7',
      userAgent: null,
      consentText: 'Send me product news.',
      formVersion: null,
      messageId: null,
      textLocale: null,
      textVersion: null,
      addressChange: null,
      position: 4_711,
    },
  ],
  confirmations: [],
  events: [],
  segments: [],
  fieldChanges: [CHANGE],
  importErrors: [],
  deliveries: [
    {
      id: MAIL_ID,
      kind: 'CAMPAIGN',
      campaignKey: 'APIT-001',
      automationKey: null,
      address: 'ada@example.com',
      locale: 'en-GB',
      variant: null,
      messageId: MESSAGE_ID,
      relayKey: null,
      providerMessageId: null,
      state: 'SENT',
      reason: null,
      attempts: 1,
      possibleDuplicate: false,
      lastError: null,
      createdAt: '2026-03-02T08:00:00.000Z',
      sentAt: '2026-03-02T08:00:02.000Z',
      finishedAt: '2026-03-02T08:00:02.000Z',
      bouncedAt: null,
      bounceType: null,
      bounceClass: null,
      opens: 1,
      clicks: 1,
      firstOpenedAt: '2026-03-02T08:14:52.000Z',
      firstClickedAt: '2026-03-02T08:14:52.000Z',
      unsubscribedAt: null,
      complainedAt: null,
    },
  ],
  deliveryEvents: [
    {
      id: '019cad9d-4860-7b21-8c4e-5d6f7a8b9c0d',
      type: 'CLICKED',
      occurredAt: '2026-03-02T08:14:52.000Z',
      deliveryId: MAIL_ID,
      bounceType: null,
      url: 'https://example.com/spring',
      linkNumber: 1,
      classification: 'human',
      agent: 'desktop',
    },
  ],
  automationRuns: [],
  messages: [],
  messageEvents: [],
  testInbox: [],
  webhookEvents: [
    {
      id: '019c1dd9-34a0-7b21-8c4e-5d6f7a8b9c0e',
      type: 'consent.pending',
      occurredAt: '2026-02-02T10:15:00.000Z',
      data: { id: ADA_ID, email: 'ada@example.com', topicKey: 'APIT-1' },
    },
  ],
} satisfies z.output<typeof personExportView>;

const OF_MAIL = {
  deliveryId: MAIL_ID,
  kind: 'CAMPAIGN',
  email: 'ada@example.com',
  campaignId: CAMPAIGN_ID,
  campaignKey: 'APIT-001',
  automationKey: null,
  nodeId: null,
  messageId: MESSAGE_ID,
};

const ACTIVITY = firstPage(
  7,
  {
    id: '019cad9d-4860-7b21-8c4e-5d6f7a8b9c0d',
    type: 'email.clicked',
    timestamp: '2026-03-02T08:14:52.000Z',
    data: { ...OF_MAIL, url: 'https://example.com/spring', linkNumber: 1, agent: 'desktop' },
    createdAt: '2026-03-02T08:14:52.000Z',
    updatedAt: '2026-03-02T08:14:52.000Z',
  },
  {
    id: '019c5b6b-d700-7b21-8c4e-5d6f7a8b9c0f',
    type: 'event.recorded',
    timestamp: '2026-02-14T09:12:00.000Z',
    data: { name: 'order.completed', properties: { total: 62.5 }, uniqueId: 'order-1042' },
    createdAt: '2026-02-14T09:12:00.000Z',
    updatedAt: '2026-02-14T09:12:00.000Z',
  },
) satisfies z.output<typeof activityPage>;

export const PEOPLE_EXAMPLES: WrittenExamples = {
  listSubscriberActivity: { answer: ACTIVITY },
  exportSubscriber: { answer: PERSON },
};
