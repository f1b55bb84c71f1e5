import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { TopicsQuery } from '#audience';
import { bounceClassesOf, RelaysQuery } from '#deliverability';
import { Clock, DomainValidationError, type ProjectScope } from '#kernel';
import { Database, plannedForValues } from '#platform';
import { HOUR_FIGURES, type HourFigure } from '../../engagement/mail-hours.repository.js';

export const STATISTICS_INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export type StatisticsInterval = (typeof STATISTICS_INTERVALS)[number];

export const STATISTICS_DIMENSIONS = [
  'campaign',
  'automation',
  'topic',
  'provider',
  'relay',
  'tag',
  'template',
] as const;
export type StatisticsDimension = (typeof STATISTICS_DIMENSIONS)[number];
/** Dimensions of messages, which are in no other. */
type MessageDimension = 'tag' | 'template';

/** The time that is told of without a beginning. */
export const DEFAULT_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;

/** The longest time that statistics are told of at once, in days. */
export const daysOfStatistics = (interval: StatisticsInterval): number => (interval === 'hour' ? 31 : 366);

/** Figures of mails; opens and clicks are of people, and a click counts as an open. */
export type MailFigures = Readonly<Record<HourFigure, number>> & { readonly bounced: number };

/** Figures of one campaign, automation, topic, provider or relay in one bucket. */
export interface StatisticsRow extends MailFigures {
  /** Beginning of the bucket. */
  readonly timestamp: Date;
  /** Null: the installation's relay, messages without a tag or template, or all together that are beyond the hundred with most mail. */
  readonly key: string | null;
  readonly name: string | null;
}

export interface StatisticsRequest {
  /** Without it, 30 days before `to`. */
  readonly from?: Date | undefined;
  /** The moment up to which; without it, now. */
  readonly to?: Date | undefined;
  readonly interval: StatisticsInterval;
  readonly by: StatisticsDimension;
}

export interface MailStatistics extends StatisticsRequest {
  readonly from: Date;
  readonly to: Date;
  /** The earliest bucket first, in it those with most mail; without buckets in which nothing happened. */
  readonly rows: readonly StatisticsRow[];
  /** Each mail once. */
  readonly totals: MailFigures;
  /** Number of those that are together in rows without a key. */
  readonly othersCount: number;
}

type Figures = Readonly<Record<HourFigure, number>>;

interface CountedRow extends Figures {
  /** Null: the totals. */
  readonly timestamp: Date | null;
  readonly key: string | null;
  readonly name: string | null;
  readonly others: number;
}

/** More campaigns, automations or topics than these are told together. */
const MOST_KEYS = 100;

const SUMS = sql.join(
  HOUR_FIGURES.map((figure) => sql`coalesce(sum(${sql.ref(figure)}), 0)::bigint as ${sql.ref(figure)}`),
);
const FIGURES = sql.join(HOUR_FIGURES.map((figure) => sql.ref(`h.${figure}`)));

/** Columns of the hours of mails that a dimension is told by; automations have hours of their own, by version and place of the node. */
const MAILS_BY: Readonly<Record<Exclude<StatisticsDimension, 'automation' | MessageDimension>, string>> = {
  campaign: 'campaign_id',
  topic: 'campaign_id',
  provider: 'provider',
  relay: 'relay_key',
};

/** SELECT from `mails` and `nodes` by `key`; a mail of several topics has each of them, the first at `place` 1. */
const KEYED: Readonly<Record<Exclude<StatisticsDimension, MessageDimension>, RawBuilder<unknown>>> = {
  campaign: sql`
    select c.campaign_key as key, c.name, 1 as place, h.timestamp, ${FIGURES} from mails h
    join messaging.campaigns c on c.id = h.campaign_id and c.environment_id = h.environment_id`,
  automation: sql`
    select a.id::text as key, a.name, 1 as place, h.timestamp, ${FIGURES} from nodes h
    join messaging.automation_versions v on v.id = h.version_id and v.environment_id = h.environment_id
    join messaging.automations a on a.id = v.automation_id and a.environment_id = h.environment_id`,
  topic: sql`
    select t.id::text as key, null as name, t.place, h.timestamp, ${FIGURES} from mails h
    join messaging.campaigns c on c.id = h.campaign_id and c.environment_id = h.environment_id
    cross join lateral unnest(c.topic_ids) with ordinality t(id, place)
    union all
    select t.id::text, null, 1, h.timestamp, ${FIGURES} from nodes h
    join messaging.automation_versions v on v.id = h.version_id and v.environment_id = h.environment_id
    cross join lateral (select v.mail_topic_ids[h.place + 1] as id) t
    where t.id is not null`,
  provider: sql`select h.provider as key, h.provider as name, 1 as place, h.timestamp, ${FIGURES} from mails h`,
  relay: sql`select h.relay_key as key, null as name, 1 as place, h.timestamp, ${FIGURES} from mails h`,
};

const HARD = bounceClassesOf(({ address }) => address === 'suppress');

const isOfMessages = (by: StatisticsDimension): by is MessageDimension => by === 'tag' || by === 'template';

/** The same of messages, counted from their events: none of theirs are in the hours. */
const keyedMessages = (
  { environmentId }: ProjectScope,
  by: MessageDimension,
  {
    interval,
    begin,
    end,
  }: { readonly interval: StatisticsInterval; readonly begin: Date; readonly end: Date },
) => {
  const isFirst = (types: RawBuilder<unknown>) => sql`not exists (
        select 1 from messaging.message_events f
        where f.environment_id = ${environmentId} and f.message_id = e.message_id and f.type in (${types}) and f.classification = 'human'
          and (f.occurred_at, f.id) < (e.occurred_at, e.id)
      )`;
  return sql`
    select coalesce(${by === 'tag' ? sql`t.key` : sql`m.template_key`}, '') as key, t.name, coalesce(t.place, 1) as place, date_trunc(${interval}, e.occurred_at, 'UTC') as timestamp,
      (e.type = 'SENT')::int as sent, (e.type = 'SENT' and m.status <> 'BOUNCED')::int as delivered,
      (e.type in ('OPENED', 'CLICKED'))::int as opened, (e.type in ('OPENED', 'CLICKED') and ${isFirst(sql`'OPENED', 'CLICKED'`)})::int as unique_opens,
      (e.type = 'CLICKED')::int as clicked, (e.type = 'CLICKED' and ${isFirst(sql`'CLICKED'`)})::int as unique_clicks,
      (e.type = 'BOUNCED' and e.reason = any(${[...HARD]}::text[]))::int as hard_bounced,
      (e.type = 'BOUNCED' and e.reason <> all(${[...HARD]}::text[]))::int as soft_bounced, 0 as unsubscribed,
      (e.type = 'COMPLAINED')::int as complained
    from messaging.message_events e
    join messaging.messages m on m.id = e.message_id and m.environment_id = ${environmentId}
    left join ${
      by === 'tag'
        ? sql`lateral (select u.key, null as name, u.place from unnest(m.tags) with ordinality u(key, place)) t on true`
        : sql`(
        select n.template_key as key, n.name, 1 as place from messaging.templates n where n.environment_id = ${environmentId}
      ) t on t.key = m.template_key`
    }
    where e.environment_id = ${environmentId} and e.type in ('SENT', 'BOUNCED', 'COMPLAINED', 'OPENED', 'CLICKED')
      and e.classification = 'human' and e.occurred_at >= ${begin} and e.occurred_at < ${end}
      and (e.type <> 'BOUNCED' or m.sent_at is not null)`;
};

/** Reads statistics over campaigns and time from the hours' counters, and those of messages. */
@Injectable()
export class MailStatisticsQuery {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicsQuery,
    private readonly relays: RelaysQuery,
    private readonly clock: Clock,
  ) {}

  /** All of the buckets that `from` and `to` lie in. `DomainValidationError` for a time that is too long. */
  async of(scope: ProjectScope, request: StatisticsRequest): Promise<MailStatistics> {
    const { interval, by, to = this.clock.now() } = request;
    const { from = new Date(to.getTime() - DEFAULT_DAYS * DAY_MS) } = request;
    if (to.getTime() <= from.getTime()) throw new DomainValidationError({ to: 'must be later than from' });
    const most = daysOfStatistics(interval);
    if (to.getTime() - from.getTime() > most * DAY_MS)
      throw new DomainValidationError({ to: `must be at most ${most} days after from with this interval` });
    const begin = bucketOf(from, interval);
    const end = bucketAfter(bucketOf(new Date(to.getTime() - 1), interval), interval);
    // Grouped by the hour first: few are left whose bucket is looked for.
    const bucketsOf = (table: string, ...columns: readonly string[]) => {
      const wanted = sql.join(columns.map((column) => sql.ref(column)));
      return sql`
        select ${scope.environmentId}::bigint as environment_id, date_trunc(${interval}, hour, 'UTC') as timestamp, ${wanted}, ${SUMS}
        from (
          select hour, ${wanted}, ${SUMS} from ${sql.table(table)}
          where environment_id = ${scope.environmentId} and hour >= ${begin} and hour < ${end} group by hour, ${wanted}
        ) h group by 2, ${wanted}`;
    };
    const mailsBy = by === 'automation' || isOfMessages(by) ? MAILS_BY.campaign : MAILS_BY[by];
    const keyed = isOfMessages(by) ? keyedMessages(scope, by, { interval, begin, end }) : KEYED[by];
    const counted = await this.database.read(scope, { onReplica: true }, () =>
      plannedForValues(this.database, { work_mem: '64MB' }, async () => {
        const { rows } = await sql<CountedRow>`
          with mails as materialized (${bucketsOf('messaging.mail_hours', mailsBy)}
          ), nodes as materialized (${bucketsOf('messaging.automation_hours', 'version_id', 'place')}
          ), keyed as materialized (${keyed}), ranked as materialized (
            select key, row_number() over (order by sum(sent) desc, sum(opened) desc, key) as rank from keyed group by key
          )
          select timestamp, case when rank <= ${MOST_KEYS} then key end as key, case when rank <= ${MOST_KEYS} then name end as name,
            0::bigint as others, ${SUMS}
          from keyed join ranked using (key) group by 1, 2, 3
          having ${sql.join(
            HOUR_FIGURES.map((figure) => sql`sum(${sql.ref(figure)}) <> 0`),
            sql` or `,
          )}
          union all
          select null, null, null, (select count(*) from ranked where rank > ${MOST_KEYS}), ${SUMS} from keyed where place = 1
          order by timestamp, sent desc, opened desc, key
        `.execute(this.database.tables());
        return rows;
      }),
    );
    const names = await this.#names(scope, by, counted);
    const rows = counted.flatMap(({ timestamp, key, name, others: _others, ...figures }): StatisticsRow[] =>
      timestamp === null ? [] : [{ timestamp, ...(names(key) ?? { key, name }), ...withBounces(figures) }],
    );
    const { timestamp: _, key: _key, name: _name, others, ...totals } = counted.at(-1)!;
    return { ...request, from: begin, to: end, rows, totals: withBounces(totals), othersCount: others };
  }

  /** Keys and names as users know them, where the hours have other ones. */
  async #names(
    scope: ProjectScope,
    by: StatisticsDimension,
    rows: readonly CountedRow[],
  ): Promise<(key: string | null) => Pick<StatisticsRow, 'key' | 'name'> | undefined> {
    const keys = [...new Set(rows.flatMap(({ key }) => key ?? []))];
    if (by === 'topic') {
      const topics = await this.topics.keysAndNames(scope, keys);
      return (key) => {
        const topic = key === null ? undefined : topics.get(key);
        return topic && { key: topic.topicKey, name: topic.name };
      };
    }
    if (by === 'relay') {
      const relays = await this.relays.names(scope);
      return (key) =>
        key === null || key === '' ? { key: null, name: null } : { key, name: relays.get(key) ?? null };
    }
    if (isOfMessages(by))
      return (key) => (key === null || key === '' ? { key: null, name: null } : undefined);
    return () => undefined;
  }
}

const withBounces = (figures: Figures): MailFigures => ({
  ...figures,
  bounced: figures.hardBounced + figures.softBounced,
});

/** The beginning of a bucket, in UTC; a week begins on Monday (ISO 8601). */
function bucketOf(moment: Date, interval: StatisticsInterval): Date {
  const [year, month, day] = [moment.getUTCFullYear(), moment.getUTCMonth(), moment.getUTCDate()];
  switch (interval) {
    case 'hour':
      return new Date(Date.UTC(year, month, day, moment.getUTCHours()));
    case 'day':
      return new Date(Date.UTC(year, month, day));
    case 'week':
      return new Date(Date.UTC(year, month, day - ((moment.getUTCDay() + 6) % 7)));
    case 'month':
      return new Date(Date.UTC(year, month));
  }
}

/** The beginning of the next bucket. */
function bucketAfter(bucket: Date, interval: StatisticsInterval): Date {
  if (interval === 'month') return new Date(Date.UTC(bucket.getUTCFullYear(), bucket.getUTCMonth() + 1));
  const days = { hour: 1 / 24, day: 1, week: 7 }[interval];
  return new Date(bucket.getTime() + days * DAY_MS);
}
