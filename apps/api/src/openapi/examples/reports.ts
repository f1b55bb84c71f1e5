import type { z } from 'zod';
import type {
  campaignLanguagesView,
  campaignLinks,
  campaignReportView,
  campaignStatisticsView,
  campaignVariantsView,
  reportLinkBody,
  reportLinkView,
  timeline,
} from '../../messaging/campaign-report.dto.js';
import type { openedTestInboxMessageView, testInboxMessageView } from '../../messaging/test-inbox.dto.js';
import type { createExportBody, exportView } from '../../messaging/exports.dto.js';
import type { statisticsView } from '../../messaging/statistics.dto.js';
import type { eventPage } from '../../webhooks/events.dto.js';
import { ADA_ID } from './audience.js';
import { CAMPAIGN_ID } from './campaigns.js';
import { onePage, type WrittenExamples } from './written-example.js';

export const EXPORT_ID = '019cbd39-ae80-7c1e-9c3e-2f6b8a4d1e9f';
export const MESSAGE_ID = '019c1dd9-3888-7b92-9c3e-2f6b8a4d1e9e';

/** Figures of 1 250 recipients: two were refused at once, a tenth of the others clicked. */
const STATISTICS = {
  campaignId: CAMPAIGN_ID,
  status: 'COMPLETE',
  totalSent: 1_248,
  totalDelivered: 1_240,
  totalBounced: 8,
  hardBounced: 3,
  softBounced: 5,
  totalOpened: 884,
  uniqueOpens: 620,
  totalClicked: 151,
  uniqueClicks: 124,
  totalUnsubscribed: 4,
  spamComplaints: 0,
  deliveryRate: 1_240 / 1_248,
  openRate: 0.5,
  clickThroughRate: 0.1,
  clickToOpenRate: 0.2,
  unsubscribeRate: 4 / 1_240,
  bounceRate: 8 / 1_248,
  engagementScore: 50,
  collectedAt: '2026-03-02T08:00:01.000Z',
  lastUpdatedAt: '2026-03-05T08:01:00.000Z',
  completedAt: '2026-03-02T08:01:30.000Z',
} satisfies z.output<typeof campaignStatisticsView>;

const ORDER = {
  what: 'SUBSCRIBERS',
  segmentKey: 'APIT-1',
  format: 'CSV',
} satisfies z.input<typeof createExportBody>;

const QUEUED_EXPORT = {
  id: EXPORT_ID,
  ...ORDER,
  status: 'QUEUED',
  rows: null,
  url: null,
  expiresAt: null,
  failureReason: null,
  createdAt: '2026-03-05T09:00:00.000Z',
  updatedAt: '2026-03-05T09:00:00.000Z',
} satisfies z.output<typeof exportView>;

const EXPORT = {
  ...QUEUED_EXPORT,
  status: 'COMPLETED',
  rows: 84,
  url: 'https://mailwright.example/e/AQgAAAAAAQGcvi5NAHwenD4va4pNHp8BxX…',
  expiresAt: '2026-03-05T10:00:02.000Z',
  updatedAt: '2026-03-05T09:00:02.000Z',
} satisfies z.output<typeof exportView>;

const LANGUAGES = {
  languages: [
    { locale: null, sent: 880, delivered: 875, bounced: 5, opened: 430, clicked: 84 },
    { locale: 'de', sent: 368, delivered: 365, bounced: 3, opened: 190, clicked: 40 },
  ],
  countedAt: '2026-03-05T08:01:00.000Z',
} satisfies z.output<typeof campaignLanguagesView>;

const COUNTS = {
  recipients: 125,
  sent: 125,
  delivered: 124,
  bounced: 1,
  opened: 61,
  clicked: 12,
  unsubscribed: 0,
  complained: 0,
};
const BETTER = { ...COUNTS, opened: 70, clicked: 27, unsubscribed: 1 };

const VARIANTS = {
  testPhase: 'DECIDED',
  by: 'CLICKS',
  leader: 2,
  isSure: true,
  winningVariant: 2,
  decidedByRule: true,
  decidedAt: '2026-03-02T12:00:10.000Z',
  undecidedAt: null,
  variants: [
    {
      variant: 1,
      name: 'Short',
      ...COUNTS,
      opens: { rate: 0.4919, low: 0.4056, high: 0.5788 },
      clicks: { rate: 0.0968, low: 0.0562, high: 0.1616 },
      pValue: 0.0094,
      decidedBy: { ...COUNTS, opened: 52, clicked: 10 },
    },
    {
      variant: 2,
      name: 'Question',
      ...BETTER,
      opens: { rate: 0.5645, low: 0.4766, high: 0.6486 },
      clicks: { rate: 0.2177, low: 0.1543, high: 0.2981 },
      pValue: null,
      decidedBy: { ...BETTER, opened: 64, clicked: 24 },
    },
  ],
  rest: {
    recipients: 1_000,
    sent: 998,
    delivered: 992,
    bounced: 6,
    opened: 489,
    clicked: 201,
    unsubscribed: 4,
    complained: 0,
  },
  countedAt: '2026-03-05T08:01:00.000Z',
} satisfies z.output<typeof campaignVariantsView>;

const LINKS = [
  {
    url: 'https://acme.example/sale?utm_source=news&utm_medium=email',
    linkNumber: 1,
    locale: null,
    clicks: 96,
    uniqueClicks: 81,
  },
  { url: 'https://acme.example/jobs', linkNumber: 2, locale: null, clicks: 55, uniqueClicks: 49 },
] satisfies z.output<typeof campaignLinks>;

const TIMELINE = [
  {
    timestamp: '2026-03-02T08:00:00.000Z',
    sent: 1_248,
    delivered: 1_240,
    opened: 402,
    clicked: 81,
    bounced: 6,
  },
  { timestamp: '2026-03-02T09:00:00.000Z', sent: 0, delivered: 0, opened: 148, clicked: 30, bounced: 2 },
  { timestamp: '2026-03-02T10:00:00.000Z', sent: 0, delivered: 0, opened: 70, clicked: 13, bounced: 0 },
] satisfies z.output<typeof timeline>;

const FIGURES = {
  sent: 1_248,
  delivered: 1_240,
  bounced: 8,
  hardBounced: 3,
  softBounced: 5,
  opened: 884,
  uniqueOpens: 620,
  clicked: 151,
  uniqueClicks: 124,
  unsubscribed: 4,
  complained: 0,
};

const OVER_TIME = {
  from: '2026-03-01T00:00:00.000Z',
  to: '2026-04-01T00:00:00.000Z',
  interval: 'month',
  by: 'campaign',
  rows: [{ timestamp: '2026-03-01T00:00:00.000Z', key: 'APIT-001', name: 'Spring news', ...FIGURES }],
  totals: FIGURES,
  othersCount: 0,
} satisfies z.output<typeof statisticsView>;

const REPORT = {
  campaignId: CAMPAIGN_ID,
  status: 'GENERATED',
  content: `## Summary

- 1,248 mails were sent, 1,240 arrived (99.4%).
- 620 of them were opened (50%; with 95% confidence the true rate lies between 47.2% and 52.8%), and 124 led to a click (10%).
- There is no earlier campaign to compare it with yet.

## What worked

Nothing stands out from chance.
`,
  locale: 'en',
  aiModelId: 'builtin/analyst-1',
  version: 1,
  failureReason: null,
  generatedAt: '2026-03-05T08:02:00.000Z',
  createdAt: '2026-03-05T08:01:30.000Z',
  updatedAt: '2026-03-05T08:02:00.000Z',
} satisfies z.output<typeof campaignReportView>;

const REQUESTED_REPORT = {
  ...REPORT,
  status: 'PENDING',
  content: null,
  aiModelId: null,
  version: 2,
  generatedAt: null,
  createdAt: '2026-03-06T09:00:00.000Z',
  updatedAt: '2026-03-06T09:00:00.000Z',
} satisfies z.output<typeof campaignReportView>;

const CONFIRM_URL = 'https://mailwright.example/c/AQEAAAAAAgGiGHoldHZBhZPEwkX3Wf4ByLdCf9dtg5gg22QvAGIXMv3LGw';
const SUBJECT = 'One click, and you get emails from Acme';

const MESSAGE = {
  id: MESSAGE_ID,
  to: 'ada@example.com',
  from: 'news@example.com',
  subject: SUBJECT,
  kind: 'OPT_IN',
  receivedAt: '2026-02-02T10:15:01.000Z',
  links: { confirm: CONFIRM_URL },
} satisfies z.output<typeof testInboxMessageView>;

const OPENED_MESSAGE = {
  ...MESSAGE,
  html: `<!doctype html>\n<html lang="en" dir="ltr">…<a href="${CONFIRM_URL}">Continue</a>…</html>`,
  text: `Someone, most likely you, asked Acme to send you emails about:\n\n- Product news\n\n…\n\nContinue: ${CONFIRM_URL}\n`,
  headers: {
    From: 'Acme <news@example.com>',
    To: 'ada@example.com',
    Subject: SUBJECT,
    'Message-ID': `<${MESSAGE_ID}@example.com>`,
  },
} satisfies z.output<typeof openedTestInboxMessageView>;

const EVENT = {
  id: '019c1dd9-34a0-7c41-9c3e-2f6b8a4d1e9e',
  sequence: 1,
  type: 'subscriber.created',
  timestamp: '2026-02-02T10:15:00.000Z',
  subscriberId: ADA_ID,
  data: { email: 'ada@example.com', status: 'PENDING_CONFIRMATION' },
  createdAt: '2026-02-02T10:15:00.000Z',
  updatedAt: '2026-02-02T10:15:00.000Z',
} satisfies z.output<typeof eventPage>['data'][number];

/** Reports of the sent campaign, the mail of the test inbox, and events. */
export const REPORT_EXAMPLES: WrittenExamples = {
  createExport: { body: ORDER, answer: QUEUED_EXPORT },
  getExport: { answer: EXPORT },
  listEvents: { answer: onePage(EVENT) },
  getCampaignReport: { answer: REPORT },
  createReportLink: {
    body: { days: 7 } satisfies z.input<typeof reportLinkBody>,
    answer: {
      url: 'https://mailwright.example/r/AQ5yZXBvcnQgb2YgdGhlIGV4YW1wbGU',
      expiresAt: '2026-03-09T08:00:00.000Z',
    } satisfies z.output<typeof reportLinkView>,
  },
  requestCampaignReport: { answer: REQUESTED_REPORT },
  getCampaignStatistics: { answer: STATISTICS },
  getCampaignLanguages: { answer: LANGUAGES },
  getCampaignVariants: { answer: VARIANTS },
  getCampaignLinks: { answer: LINKS },
  getCampaignTimeline: { answer: TIMELINE },
  getStatistics: { answer: OVER_TIME },
  listTestInboxMessages: { answer: onePage(MESSAGE) },
  getTestInboxMessage: { answer: OPENED_MESSAGE },
};
