import { z } from 'zod';
import { daysOfStatistics, DEFAULT_DAYS, STATISTICS_DIMENSIONS, STATISTICS_INTERVALS } from '#messaging';
import { int64, timestamp } from '#platform/http';
import { moment } from '../fields.js';

const DAY_MS = 24 * 60 * 60_000;

/** A day in UTC, or a moment. A day means its beginning, or its end where it is the last. */
const dayOrMoment = (end: 'first' | 'last') =>
  z.union(
    [
      z.iso
        .date()
        .transform((day) => new Date(Date.parse(`${day}T00:00:00Z`) + (end === 'last' ? DAY_MS : 0))),
      moment,
    ],
    'must be a day such as 2026-03-02, or a time with its zone such as 2026-03-02T08:00:00Z',
  );

export const statisticsQuery = z.object({
  from: dayOrMoment('first')
    .optional()
    .meta({
      description: `The first day (UTC), or a moment in the first bucket; without it, ${DEFAULT_DAYS} days before \`to\`.`,
      example: '2026-03-01',
    }),
  to: dayOrMoment('last').optional().meta({
    description: 'The last day (UTC), which is included, or the moment up to which; without it, now.',
    example: '2026-03-31',
  }),
  interval: z
    .enum(STATISTICS_INTERVALS)
    .default('day')
    .meta({
      description: `The length of a bucket. Hours are told of at most ${daysOfStatistics('hour')} days, the others of ${daysOfStatistics('day')}.`,
    }),
  by: z
    .enum(STATISTICS_DIMENSIONS)
    .default('campaign')
    .meta({
      description:
        '`provider` is the mailbox provider by the domain of the address; `automation` has mails of automations alone, ' +
        '`campaign` those of campaigns, `tag` and `template` messages, which are in no other.',
    }),
});

const figures = {
  sent: int64.meta({ description: 'Accepted by the relay.' }),
  delivered: int64.meta({ description: 'Sent in this bucket and not bounced since.' }),
  bounced: int64.meta({ description: 'hardBounced + softBounced, in the bucket of their report.' }),
  hardBounced: int64,
  softBounced: int64,
  opened: int64.meta({ description: 'Opens by people; a click counts as an open.' }),
  uniqueOpens: int64.meta({ description: 'Mails that were opened for the first time.' }),
  clicked: int64.meta({ description: 'Clicks by people.' }),
  uniqueClicks: int64.meta({ description: 'Mails in which a link was followed for the first time.' }),
  unsubscribed: int64.meta({ description: 'Mails through which their readers unsubscribed.' }),
  complained: int64.meta({ description: 'Mails that their readers reported as spam.' }),
};

export const statisticsView = z
  .object({
    from: timestamp.meta({ description: 'The beginning of the first bucket.' }),
    to: timestamp.meta({ description: 'The end of the last bucket.' }),
    interval: z.enum(STATISTICS_INTERVALS),
    by: z.enum(STATISTICS_DIMENSIONS),
    rows: z
      .array(
        z
          .object({
            timestamp: timestamp.meta({
              description: 'The start of the bucket, aligned to UTC; weeks begin on Monday.',
            }),
            key: z
              .string()
              .nullable()
              .meta({
                description:
                  'campaignKey, id of the automation, topicKey, name of the provider (`other`: none of the large ones), ' +
                  'relayKey, tag or templateKey. Null: the installation’s relay, messages without a tag or template, or with `othersCount` all together beyond the hundred with most mail.',
                example: 'APIT-001',
              }),
            name: z.string().nullable().meta({ description: 'Null where it is not known any more.' }),
            ...figures,
          })
          .meta({ id: 'StatisticsRow' }),
      )
      .meta({
        description:
          'The earliest bucket first, in it those with most mail. Nothing happened in buckets that are left out.',
      }),
    totals: z.object(figures).meta({
      description: 'Each mail once, though a mail of several topics or tags is in the rows of each.',
    }),
    othersCount: int64.meta({
      description:
        'How many campaigns, automations, topics, tags or templates are together in rows without a key.',
    }),
  })
  .meta({ id: 'Statistics' });
