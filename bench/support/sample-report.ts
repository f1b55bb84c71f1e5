import type { CampaignOverview } from '#messaging';

const HOUR_MS = 3_600_000;
const SENT_AT = new Date('2026-03-03T09:00:00Z');
const HOURS = 72;

/** Opens and clicks fade, with a second wave each morning. */
const reactionOf = (hour: number, first: number): number => {
  const morning = 1 + 0.9 * Math.exp(-(((hour % 24) - 1) ** 2) / 8);
  return Math.round(first * Math.exp(-hour / 14) * morning);
};

const points = Array.from({ length: HOURS }, (_, hour) => ({
  timestamp: new Date(SENT_AT.getTime() + hour * HOUR_MS),
  sent: [9_210, 3_190][hour] ?? 0,
  delivered: [9_102, 3_150][hour] ?? 0,
  opened: reactionOf(hour, 640),
  clicked: reactionOf(hour, 150),
  bounced: [108, 40][hour] ?? 0,
}));

/** A campaign as a shop's might be, for the pictures of the documentation. */
export const sampleReport: CampaignOverview = {
  name: 'Spring collection',
  subject: 'Spring is here, {{ subscriber.first_name | default: "friend" }}',
  queuedAt: SENT_AT,
  isTracked: true,
  statistics: {
    campaignId: '019aa3b5-0000-7000-8000-000000000000',
    status: 'COMPLETE',
    totalSent: 12_400,
    totalDelivered: 12_252,
    totalBounced: 148,
    hardBounced: 97,
    softBounced: 51,
    totalOpened: 9_318,
    uniqueOpens: 5_146,
    totalClicked: 2_101,
    uniqueClicks: 1_372,
    totalUnsubscribed: 38,
    spamComplaints: 4,
    deliveryRate: 12_252 / 12_400,
    openRate: 5_146 / 12_252,
    clickThroughRate: 1_372 / 12_252,
    clickToOpenRate: 1_372 / 5_146,
    unsubscribeRate: 38 / 12_252,
    bounceRate: 148 / 12_400,
    engagementScore: 58.4,
    collectedAt: SENT_AT,
    lastUpdatedAt: points.at(-1)?.timestamp ?? null,
    completedAt: new Date('2026-03-03T10:20:00Z'),
  },
  timeline: { interval: 'hour', points },
  links: [
    { url: 'https://shop.example/spring', clickers: 812 },
    { url: 'https://shop.example/spring/jackets?utm_source=newsletter&utm_campaign=spring', clickers: 401 },
    { url: 'https://shop.example/stores', clickers: 133 },
    { url: 'https://shop.example/about', clickers: 26 },
  ],
  languages: [],
  isBrokenDown: true,
  brokenDownAt: null,
  providers: [
    { domain: 'gmail.com', sent: 6_204, delivered: 6_190, bounced: 14, opened: 2_811, clicked: 764 },
    { domain: 'outlook.com', sent: 2_480, delivered: 2_402, bounced: 78, opened: 841, clicked: 201 },
    { domain: 'yahoo.com', sent: 1_160, delivered: 1_149, bounced: 11, opened: 472, clicked: 130 },
    { domain: 'icloud.com', sent: 911, delivered: 908, bounced: 3, opened: 458, clicked: 121 },
    { domain: null, sent: 1_645, delivered: 1_603, bounced: 42, opened: 564, clicked: 156 },
  ],
  report: {
    content: `## Summary

- 12,400 mails were sent, 12,252 arrived (98.8%).
- 5,146 of them were opened (42%; with 95% confidence the true rate lies between 41.1% and 42.9%), and 1,372 led to a click (11.2%).
- It is compared with the 8 campaigns before it, taken together.

## What worked

- Open rate: 42% against 37.1% before, **significantly better**. Rank 1 of 9.
- The link \`https://shop.example/spring\` is clearly ahead of all others.

## What to improve

- outlook.com: 3.1% of its mails failed to arrive, against 0.7% of all others'.

## Recommendation

Look at what outlook.com answered to the 78 mails that came back, before the next campaign goes there.
`,
    locale: 'en',
    aiModelId: 'builtin/analyst-1',
    generatedAt: new Date('2026-03-03T11:20:00Z'),
  },
};
