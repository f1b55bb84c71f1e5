import type { z } from 'zod';
import type {
  campaignPreviewView,
  campaignView,
  createCampaignBody,
  duplicateCampaignBody,
  patchCampaignBody,
  preSendAnalysisView,
  previewCampaignBody,
  previewLinkView,
  testCampaignBody,
} from '../../messaging/campaign.dto.js';
import type { deliveryPage } from '../../messaging/campaign-report.dto.js';
import { ADA_ID, GRACE_ID, TOPIC_ID } from './audience.js';
import { firstPage, onePage, type WrittenExamples } from './written-example.js';

export const CAMPAIGN_ID = '019c9a3f-d300-7d55-9c3e-2f6b8a4d1e9b';

const CONTENT = JSON.stringify({
  blocks: [
    { type: 'heading', level: 1, text: 'Spring is here' },
    { type: 'text', html: '<p>Hello {{ subscriber.first_name }}, three things are new.</p>' },
    { type: 'button', label: 'See what is new', url: 'https://example.com/spring' },
  ],
});

const NEW_CAMPAIGN = {
  name: 'Spring 2026',
  subject: 'Spring is here',
  previewText: 'Three things that are new',
  contentJson: CONTENT,
  fromEmail: 'news@example.com',
  fromName: 'Acme News',
  topicIds: [TOPIC_ID],
  metadata: { costCentre: 'M-12' },
} satisfies z.input<typeof createCampaignBody>;

const CREATED_CAMPAIGN = {
  ...NEW_CAMPAIGN,
  id: CAMPAIGN_ID,
  campaignKey: 'APIT-001',
  contentText: null,
  translations: {},
  variants: [],
  test: null,
  testPhase: null,
  winningVariant: null,
  status: 'DRAFT',
  sendStrategy: null,
  segmentIds: [],
  estimatedRecipientCount: null,
  estimatedAt: null,
  scheduledAt: null,
  scheduledAtLocal: null,
  completedAt: null,
  replyTo: null,
  templateKey: null,
  templateVersion: null,
  resendOf: null,
  preSendScore: null,
  preSendStatus: null,
  createdAt: '2026-02-26T14:00:00.000Z',
  updatedAt: '2026-02-26T14:00:00.000Z',
} satisfies z.output<typeof campaignView>;

const AS_CAMPAIGN = {
  subject: null,
  previewText: null,
  contentJson: null,
  contentText: null,
  fromName: null,
  translations: {},
  templateKey: null,
  templateVersion: null,
};

const CAMPAIGN_CHANGES = {
  replyTo: 'hello@example.com',
  translations: {
    de: {
      subject: 'Der Frühling ist da',
      previewText: 'Drei Neuheiten',
      contentJson: null,
      contentText: null,
    },
  },
  variants: [
    { ...AS_CAMPAIGN, name: 'Short' },
    { ...AS_CAMPAIGN, name: 'Question', subject: 'Have you seen what is new?' },
  ],
  test: { sharePercent: 20, decideAfter: 'PT4H', by: 'CLICKS', ifUndecided: 'LEADER' },
  sendStrategy: 'SCHEDULED',
  scheduledAt: '2026-03-02T08:00:00.000Z',
} satisfies z.input<typeof patchCampaignBody>;

const CHANGED_CAMPAIGN = {
  ...CREATED_CAMPAIGN,
  ...CAMPAIGN_CHANGES,
  updatedAt: '2026-02-26T14:20:00.000Z',
} satisfies z.output<typeof campaignView>;

const COUNTED = {
  estimatedRecipientCount: 1_250,
  estimatedAt: '2026-02-27T10:00:00.000Z',
  preSendScore: 100,
  preSendStatus: 'PASSED',
} satisfies Partial<z.output<typeof campaignView>>;

const SCHEDULED_CAMPAIGN = {
  ...CHANGED_CAMPAIGN,
  ...COUNTED,
  status: 'SCHEDULED',
  updatedAt: '2026-02-27T10:00:00.000Z',
} satisfies z.output<typeof campaignView>;

const CANCELLED_CAMPAIGN = {
  ...SCHEDULED_CAMPAIGN,
  status: 'CANCELLED',
  updatedAt: '2026-02-27T11:30:00.000Z',
} satisfies z.output<typeof campaignView>;

const QUEUED_CAMPAIGN = {
  ...SCHEDULED_CAMPAIGN,
  status: 'QUEUED_FOR_SENDING',
  testPhase: 'TESTING',
  updatedAt: '2026-03-02T08:00:00.000Z',
} satisfies z.output<typeof campaignView>;

const SENDING_CAMPAIGN = {
  ...QUEUED_CAMPAIGN,
  status: 'SENDING',
  updatedAt: '2026-03-02T08:00:40.000Z',
} satisfies z.output<typeof campaignView>;

const PAUSED_CAMPAIGN = {
  ...QUEUED_CAMPAIGN,
  status: 'PAUSED',
  updatedAt: '2026-03-02T08:00:20.000Z',
} satisfies z.output<typeof campaignView>;

const DECIDED_CAMPAIGN = {
  ...SENDING_CAMPAIGN,
  testPhase: 'DECIDED',
  winningVariant: 2,
  updatedAt: '2026-03-02T11:30:00.000Z',
} satisfies z.output<typeof campaignView>;

const SENT_CAMPAIGN = {
  ...DECIDED_CAMPAIGN,
  status: 'SENT',
  completedAt: '2026-03-02T11:31:30.000Z',
  updatedAt: '2026-03-02T11:31:30.000Z',
} satisfies z.output<typeof campaignView>;

const COPY = { name: 'Spring 2026, again', resendTo: 'NOT_OPENED' } satisfies z.input<
  typeof duplicateCampaignBody
>;

const COPIED_CAMPAIGN = {
  ...CREATED_CAMPAIGN,
  name: COPY.name,
  id: '019cb780-d680-7d55-9c3e-2f6b8a4d1e9b',
  campaignKey: 'APIT-002',
  replyTo: CAMPAIGN_CHANGES.replyTo,
  translations: CAMPAIGN_CHANGES.translations,
  variants: CAMPAIGN_CHANGES.variants,
  test: CAMPAIGN_CHANGES.test,
  resendOf: 'APIT-001',
  createdAt: '2026-03-04T06:20:00.000Z',
  updatedAt: '2026-03-04T06:20:00.000Z',
} satisfies z.output<typeof campaignView>;

const ANALYSIS = {
  score: 100,
  status: 'PASSED',
  checks: [
    { code: 'topic', severity: 'CRITICAL', result: 'PASS', message: 'Goes to Product news.' },
    {
      code: 'recipients',
      severity: 'CRITICAL',
      result: 'PASS',
      message: '1250 subscribers will receive it.',
    },
    { code: 'merge-tags', severity: 'CRITICAL', result: 'PASS', message: 'All merge tags are known.' },
    {
      code: 'unsubscribe-link',
      severity: 'CRITICAL',
      result: 'PASS',
      message: 'There is an unsubscribe link.',
    },
    {
      code: 'subject-length',
      severity: 'WARNING',
      result: 'PASS',
      message: 'The subject has 14 characters.',
    },
  ],
  audience: {
    matched: 1_290,
    unconfirmed: 28,
    suppressed: 6,
    bounced: 4,
    capped: 2,
    willReceive: 1_250,
  },
} satisfies z.output<typeof preSendAnalysisView>;

const PREVIEW = {
  subject: 'Spring is here',
  previewText: 'Three things that are new',
  fromName: 'Acme News',
  html: '<!doctype html>\n<html lang="en" dir="ltr">…<h1>Spring is here</h1><p>Hello Ada, three things are new.</p>…</html>',
  text: 'Spring is here\n\nHello Ada, three things are new.\n\nSee what is new: https://example.com/spring\n',
  checks: [],
} satisfies z.output<typeof campaignPreviewView>;

const PREVIEW_CHANGES = { previewText: 'New: three things' } satisfies z.input<typeof previewCampaignBody>;

const PREVIEW_LINK = {
  url: 'https://mailwright.example/d/AQkAAAAAAQGcmj_TAH1VnD4va4pNHpsBxXpY0kq7Zt1mPiW8vGgR2c',
  expiresAt: '2026-03-05T14:00:00.000Z',
} satisfies z.output<typeof previewLinkView>;

const TEST = { emails: ['ada@example.com'] } satisfies z.input<typeof testCampaignBody>;

const SENT_DELIVERY_ID = '019cad8f-afe8-7a31-9c3e-2f6b8a4d1e9c';
const FAILED_DELIVERY_ID = '019cad8f-afe9-7f08-9c3e-2f6b8a4d1e9d';

const DELIVERIES = firstPage(
  1_250,
  {
    id: SENT_DELIVERY_ID,
    subscriberId: ADA_ID,
    email: 'ada@example.com',
    status: 'SENT',
    reason: null,
    locale: 'en-GB',
    variant: 1,
    attempts: 1,
    lastError: null,
    messageId: `<${SENT_DELIVERY_ID}@example.com>`,
    possibleDuplicate: false,
    relayKey: 'APIT-1',
    providerMessageId: '0107019cad8fb3d0-7c1e2b6f-000000',
    nextAttemptAt: null,
    sentAt: '2026-03-02T08:00:02.000Z',
    finishedAt: '2026-03-02T08:00:02.000Z',
    openedAt: '2026-03-02T08:14:30.000Z',
    clickedAt: '2026-03-02T08:14:52.000Z',
    clicks: 2,
    bouncedAt: null,
    bounceClass: null,
    unsubscribedAt: null,
    complainedAt: null,
  },
  {
    id: FAILED_DELIVERY_ID,
    subscriberId: GRACE_ID,
    email: 'grace@example.com',
    status: 'FAILED',
    reason: 'mailbox',
    locale: null,
    variant: null,
    attempts: 1,
    lastError: '550 5.1.1 No such user here',
    messageId: `<${FAILED_DELIVERY_ID}@example.com>`,
    possibleDuplicate: false,
    relayKey: 'APIT-1',
    providerMessageId: null,
    nextAttemptAt: null,
    sentAt: null,
    finishedAt: '2026-03-02T08:00:02.000Z',
    openedAt: null,
    clickedAt: null,
    clicks: 0,
    bouncedAt: null,
    bounceClass: null,
    unsubscribedAt: null,
    complainedAt: null,
  },
) satisfies z.output<typeof deliveryPage>;

export const CAMPAIGN_EXAMPLES: WrittenExamples = {
  listCampaigns: { answer: onePage(SENT_CAMPAIGN) },
  createCampaign: { body: NEW_CAMPAIGN, answer: CREATED_CAMPAIGN },
  getCampaign: { answer: SENT_CAMPAIGN },
  updateCampaign: { body: CAMPAIGN_CHANGES, answer: CHANGED_CAMPAIGN },
  duplicateCampaign: { body: COPY, answer: COPIED_CAMPAIGN },
  analyseCampaign: { answer: ANALYSIS },
  previewCampaign: { answer: PREVIEW },
  previewCampaignChanges: { body: PREVIEW_CHANGES, answer: { ...PREVIEW, ...PREVIEW_CHANGES } },
  linkCampaignPreview: { answer: PREVIEW_LINK },
  testCampaign: { body: TEST },
  scheduleCampaign: { answer: SCHEDULED_CAMPAIGN },
  cancelCampaign: { answer: CANCELLED_CAMPAIGN },
  sendCampaign: { answer: QUEUED_CAMPAIGN },
  pauseCampaign: { answer: PAUSED_CAMPAIGN },
  resumeCampaign: { answer: SENDING_CAMPAIGN },
  chooseVariant: { body: { variant: 2 }, answer: DECIDED_CAMPAIGN },
  retryFailedDeliveries: { answer: { ...SENT_CAMPAIGN, status: 'SENDING', completedAt: null } },
  listDeliveries: { answer: DELIVERIES },
};
