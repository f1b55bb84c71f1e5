import { z } from 'zod';
import { emailField, int64, pageOf, pageQuery, PLACES, strictBody, timestamp } from '#platform/http';
import { BOUNCE_CLASSES } from '#deliverability';
import { DELIVERY_STATES, REPORT_LINK_DAYS, TEST_MEASURES, TIMELINE_INTERVALS } from '#messaging';
import { defaulted, requiredLine } from '../fields.js';

const fraction = z.number().min(0).max(1);

export const campaignStatisticsView = z
  .object({
    campaignId: z.uuid(),
    status: z.enum(['COLLECTING', 'LIVE', 'COMPLETE', 'PARTIAL']).nullable(),
    totalSent: int64.meta({ description: 'Accepted by the next hop.' }),
    totalDelivered: int64.meta({ description: 'Sent minus bounced.' }),
    totalBounced: int64,
    hardBounced: int64,
    softBounced: int64,
    totalOpened: int64,
    uniqueOpens: int64,
    totalClicked: int64,
    uniqueClicks: int64,
    totalUnsubscribed: int64,
    spamComplaints: int64,
    deliveryRate: fraction.meta({ description: 'delivered / sent' }),
    openRate: fraction.meta({ description: 'uniqueOpens / delivered' }),
    clickThroughRate: fraction.meta({ description: 'uniqueClicks / delivered' }),
    clickToOpenRate: fraction.meta({ description: 'uniqueClicks / uniqueOpens' }),
    unsubscribeRate: fraction.meta({ description: 'unsubscribed / delivered' }),
    bounceRate: fraction.meta({ description: 'bounced / sent' }),
    engagementScore: z.number().min(0).max(100),
    collectedAt: timestamp.nullable(),
    lastUpdatedAt: timestamp.nullable(),
    completedAt: timestamp.nullable(),
  })
  .meta({ id: 'CampaignStatistics' });

export const campaignLanguagesView = z
  .object({
    languages: z
      .array(
        z.object({
          locale: z.string().nullable().meta({
            description: 'Of the translation; null: the campaign’s own content.',
            example: 'de',
          }),
          sent: int64,
          delivered: int64,
          bounced: int64,
          opened: int64.meta({ description: 'Mails that somebody opened; a click counts as an open.' }),
          clicked: int64.meta({ description: 'Mails in which somebody followed a link.' }),
        }),
      )
      .meta({ description: 'The most read first; empty for a campaign without translations.' }),
    countedAt: timestamp.nullable().meta({
      description: 'Null before sending, and until a large campaign is counted for the first time.',
    }),
  })
  .meta({ id: 'CampaignLanguages' });

const variantCounts = {
  recipients: int64.meta({ description: 'Whose mail was queued.' }),
  sent: int64,
  delivered: int64.meta({ description: 'Sent minus bounced.' }),
  bounced: int64,
  opened: int64.meta({ description: 'Mails that a person opened; a click counts as an open.' }),
  clicked: int64.meta({ description: 'Mails in which a person followed a link.' }),
  unsubscribed: int64,
  complained: int64,
};
const rate = z.object({ rate: fraction, low: fraction, high: fraction });

export const campaignVariantsView = z
  .object({
    testPhase: z.enum(['TESTING', 'DECIDED']).nullable(),
    by: z
      .enum(TEST_MEASURES)
      .nullable()
      .meta({ description: 'The rate that is compared; clicks with `MANUAL`.' }),
    leader: z
      .int()
      .nullable()
      .meta({ description: 'Number of the variant with the highest rate, the first of equal ones.' }),
    isSure: z.boolean().meta({ description: 'The leader is better than each other one, p < 0.05.' }),
    winningVariant: z.int().nullable(),
    decidedByRule: z.boolean().nullable().meta({ description: 'False: by hand; null: not decided.' }),
    decidedAt: timestamp.nullable(),
    undecidedAt: timestamp
      .nullable()
      .meta({ description: 'When the test came to no result and asked for a choice.' }),
    variants: z
      .array(
        z.object({
          variant: z.int(),
          name: z.string(),
          ...variantCounts,
          opens: rate.meta({ description: 'opened / delivered' }),
          clicks: rate.meta({ description: 'clicked / delivered' }),
          pValue: fraction.nullable().meta({
            description: 'How often chance alone makes such a difference to the leader; null for the leader.',
          }),
          decidedBy: z.object(variantCounts).nullable().meta({
            description: 'The counts when it was decided, which never change.',
          }),
        }),
      )
      .meta({ description: 'Of the test alone; empty for a campaign without variants.' }),
    rest: z
      .object(variantCounts)
      .nullable()
      .meta({ description: 'The others, who wait for the winner or got it.' }),
    countedAt: timestamp.nullable().meta({
      description: 'Null before sending, and until a large campaign is counted for the first time.',
    }),
  })
  .meta({ id: 'CampaignVariants' });

export const campaignLink = z
  .object({
    url: z.string().meta({
      description: 'As the author wrote it, byte for byte.',
      example: 'https://shop.example/?utm_source=news',
    }),
    linkNumber: z
      .int()
      .min(1)
      .meta({
        description:
          'Its place among the links of the mail, by which `link` finds deliveries and `email.clicked` names it. Where ' +
          'the content changed between two sends, the place in the last.',
      }),
    locale: z.string().nullable().meta({
      description: 'The translation that has the link; null: the campaign’s own content.',
      example: 'de',
    }),
    clicks: int64.meta({ description: 'Clicks by people.' }),
    uniqueClicks: int64.meta({ description: 'Mails through which somebody followed it.' }),
  })
  .meta({ id: 'CampaignLink' });

export const campaignLinks = z.array(campaignLink).meta({ id: 'CampaignLinks' });

export const campaignReportView = z
  .object({
    campaignId: z.uuid(),
    status: z.enum(['PENDING', 'GENERATING', 'GENERATED', 'FAILED']).nullable(),
    content: z.string().nullable().meta({ description: 'Markdown without HTML, links and images.' }),
    locale: z.string().nullable().meta({ example: 'en' }),
    aiModelId: z
      .string()
      .nullable()
      .meta({ description: 'The author of the report.', example: 'builtin/analyst-1' }),
    version: z.int().min(1).meta({ description: 'Version 1 is generated automatically.' }),
    failureReason: z.string().nullable().meta({ example: 'credits depleted' }),
    generatedAt: timestamp.nullable(),
    createdAt: timestamp.nullable(),
    updatedAt: timestamp.nullable(),
  })
  .meta({ id: 'CampaignReport' });

export const timelineQuery = z.object({ interval: z.enum(TIMELINE_INTERVALS).default('hour') });

export const exportQuery = z.object({
  rows: z
    .enum(['statistics', 'deliveries'])
    .default('statistics')
    .meta({ description: '`deliveries`: one row for each recipient instead of one for the campaign.' }),
});

export const timeline = z
  .array(
    z
      .object({
        timestamp: timestamp.meta({ description: 'The start of the bucket, aligned to UTC.' }),
        sent: int64,
        delivered: int64.meta({ description: 'Sent in this bucket and not bounced since.' }),
        opened: int64,
        clicked: int64,
        bounced: int64,
      })
      .meta({ id: 'TimeSeriesPoint' }),
  )
  .meta({ id: 'Timeline' });

const flag = (description: string) =>
  z
    .preprocess((value) => (value === 'true' ? true : value === 'false' ? false : value), z.boolean())
    .optional()
    .meta({ description });

export const deliveryListQuery = pageQuery(
  {
    status: z.enum(DELIVERY_STATES).optional(),
    email: emailField.optional().meta({ description: 'Exactly this address.' }),
    opened: flag('Whether a person opened it; a click counts as an open.'),
    clicked: flag('Whether a person followed a link in it.'),
    link: requiredLine(8_000).optional().meta({
      description:
        'A link that a person followed in it: its `linkNumber`, in whatever language, or its address. One that the campaign does not have is 422.',
      example: '1',
    }),
    bounced: flag('Whether it came back after it was sent.'),
  },
  [PLACES.id.nullable(), PLACES.id],
);

const MASKED = 'Without the scope `subscribers:read` masked: `a…@example.com`.';

const deliveryView = z
  .object({
    id: z.uuid(),
    subscriberId: z.uuid().nullable().meta({ description: 'Null when the subscriber was erased.' }),
    email: z
      .string()
      .nullable()
      .meta({
        description: `Null when the subscriber was erased. ${MASKED}`,
        example: 'ada@example.com',
      }),
    status: z.enum(DELIVERY_STATES),
    reason: z.string().nullable().meta({
      description: 'Why the delivery was skipped or cancelled, or the class of the failure.',
      example: 'mailbox',
    }),
    locale: z.string().nullable().meta({
      description:
        'The recipient’s language when the mail was queued (BCP 47), by which its translation was chosen.',
      example: 'de-AT',
    }),
    variant: z.int().nullable().meta({
      description:
        'The number of the variant that the person has in the test; null without, and for those who get the winner.',
    }),
    attempts: z.int(),
    lastError: z.string().nullable().meta({
      description: 'The last answer of the next hop. Addresses in it are masked as `email` is.',
    }),
    messageId: z.string(),
    possibleDuplicate: z
      .boolean()
      .meta({ description: 'Whether it was sent again although the first one may have arrived.' }),
    relayKey: z.string().nullable().meta({
      description: 'The project’s relay that it was handed to last; null: the installation’s, or none yet.',
      example: 'APIT-1',
    }),
    providerMessageId: z
      .string()
      .nullable()
      .meta({ description: 'What that relay called it when it took it, as its log and events name it.' }),
    nextAttemptAt: timestamp.nullable(),
    sentAt: timestamp.nullable().meta({ description: 'When the next hop accepted it.' }),
    finishedAt: timestamp.nullable(),
    openedAt: timestamp.nullable().meta({
      description: 'When a person first opened it; a click counts as an open.',
    }),
    clickedAt: timestamp.nullable().meta({ description: 'When a person first followed a link in it.' }),
    clicks: z.int().meta({ description: 'How often people followed links in it.' }),
    bouncedAt: timestamp.nullable().meta({ description: 'When it came back after it was sent.' }),
    bounceClass: z.enum(BOUNCE_CLASSES).nullable().meta({
      description: 'Why it came back.',
      example: 'mailbox',
    }),
    unsubscribedAt: timestamp.nullable().meta({ description: 'When its reader unsubscribed through it.' }),
    complainedAt: timestamp.nullable().meta({ description: 'When its reader reported it as spam.' }),
  })
  .meta({ id: 'Delivery' });
export const deliveryPage = pageOf(deliveryView, 'DeliveryPage');

export const reportLinkBody = strictBody({
  days: defaulted(
    z.int().min(1).max(REPORT_LINK_DAYS.most),
    REPORT_LINK_DAYS.default,
    'The days for which it is valid.',
  ),
}).meta({ id: 'CreateReportLink' });

export const reportLinkView = z
  .object({ url: z.string().meta({ format: 'uri' }), expiresAt: timestamp })
  .meta({ id: 'ReportLink' });
