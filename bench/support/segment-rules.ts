import type { AudienceData } from './audience-data.js';

/** A rule as a client writes it, and the condition on `b` that somebody who knows the tables writes for it. */
export interface MeasuredRule {
  readonly name: string;
  readonly where: unknown;
  /** `$1` is the environment, `$2` the moment that windows are counted from. */
  readonly sql: string;
}

const field = (name: string, op: string, value?: unknown) => ({ field: name, op, value });
const event = (type: object, op: string, value: number, within?: string) => ({
  event: type,
  count: { op, value },
  ...(within === undefined ? {} : { within }),
});

const BIRTHDAYS = `to_char((b.custom_fields ->> 'birthday')::date, 'MM-DD') in (
  select to_char($2::timestamptz + make_interval(days => d), 'MM-DD') from generate_series(0, 7) d)`;

function mailEvents(type: string, least: number, days: number): string {
  return `select e.subscriber_id from messaging.delivery_events e
    where e.environment_id = $1 and e.type ${type} and e.occurred_at >= $2::timestamptz - interval '${days} days'
    ${least === 1 ? '' : `group by e.subscriber_id having count(*) >= ${least}`}`;
}

/** Ten rules, from plain to nasty. */
export function measuredRules(
  { topics, campaigns }: AudienceData,
  staticSegment: { id: string; key: string },
): readonly MeasuredRule[] {
  const [news, offers] = topics;
  const [campaign] = campaigns;
  const subscribed = (topic = news) => ({ consent: { topicKey: topic?.topicKey, status: ['SUBSCRIBED'] } });
  const isSubscribed = (topic = news) =>
    `exists (select from audience.consents c where c.environment_id = $1 and c.subscriber_id = b.id and c.topic_id = '${topic?.id}' and c.status = 'SUBSCRIBED')`;
  const opens = `in ('OPENED', 'CLICKED')`;
  return [
    { name: 'consent to a topic', where: subscribed(), sql: isSubscribed() },
    {
      name: 'option of a field',
      where: field('custom.plan', 'in', ['PRO', 'team']),
      sql: `b.custom_fields ->> 'plan' in ('pro', 'team')`,
    },
    {
      name: 'number',
      where: field('custom.age', 'eq', 41),
      sql: `b.custom_fields @> '{"age": 41}'`,
    },
    {
      name: 'range of numbers',
      where: field('custom.age', 'between', [30, 40]),
      sql: `(b.custom_fields ->> 'age')::int between 30 and 40`,
    },
    {
      name: 'text',
      where: { or: [field('custom.city', 'startsWith', 'züri'), field('lastName', 'contains', 'LY12')] },
      sql: `(lower(b.custom_fields ->> 'city') like 'züri%' or lower(b.last_name) like '%ly12%')`,
    },
    {
      name: 'dates',
      where: {
        and: [
          field('createdAt', 'inLast', 'P365D'),
          field('custom.last_login', 'notInLast', 'P90D'),
          field('custom.birthday', 'anniversaryInNext', 'P7D'),
        ],
      },
      sql: `b.created_at >= $2::timestamptz - interval '365 days' and (b.custom_fields ->> 'last_login' < to_char(($2::timestamptz - interval '90 days') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') or b.custom_fields ->> 'last_login' is null) and ${BIRTHDAYS}`,
    },
    {
      name: 'opened twice',
      where: event({ type: 'OPENED' }, 'gte', 2, 'P30D'),
      sql: `b.id in (${mailEvents(opens, 2, 30)})`,
    },
    {
      name: 'the contract’s example',
      where: {
        and: [
          subscribed(),
          field('custom.plan', 'in', ['pro', 'team']),
          event({ type: 'OPENED' }, 'gte', 2, 'P30D'),
          { not: event({ type: 'CLICKED' }, 'gte', 1, 'P90D') },
        ],
      },
      sql: `${isSubscribed()} and b.custom_fields ->> 'plan' in ('pro', 'team') and b.id in (${mailEvents(opens, 2, 30)})
        and not exists (select from (${mailEvents(`= 'CLICKED'`, 1, 90)}) e where e.subscriber_id = b.id)`,
    },
    {
      name: 'one of many ways in',
      where: {
        and: [
          {
            or: [
              field('custom.plan', 'eq', 'team'),
              event({ type: 'CUSTOM', name: 'order.paid' }, 'gte', 1, 'P60D'),
              event({ type: 'CLICKED' }, 'gte', 2),
              subscribed(topics[2]),
            ],
          },
          { segment: { segmentKey: staticSegment.key, member: false } },
        ],
      },
      sql: `(b.custom_fields ->> 'plan' = 'team' or b.id in (
          select e.subscriber_id from audience.subscriber_events e where e.environment_id = $1 and e.name = 'order.paid' and e.occurred_at >= $2::timestamptz - interval '60 days'
          union all select e.subscriber_id from messaging.delivery_events e where e.environment_id = $1 and e.type = 'CLICKED' group by e.subscriber_id having count(*) >= 2
          union all select c.subscriber_id from audience.consents c where c.environment_id = $1 and c.topic_id = '${topics[2]?.id}' and c.status = 'SUBSCRIBED'))
        and not exists (select from audience.segment_members m where m.segment_id = '${staticSegment.id}' and m.subscriber_id = b.id)`,
    },
    {
      name: 'nasty',
      where: {
        or: [
          {
            and: [
              { not: { or: [field('custom.plan', 'eq', 'free'), field('custom.age', 'lt', 25)] } },
              event({ type: 'OPENED', topicKey: news?.topicKey }, 'gte', 3, 'P90D'),
              { not: { and: [subscribed(offers), field('custom.vip', 'eq', false)] } },
            ],
          },
          {
            and: [
              event({ type: 'SENT', campaignKey: campaign?.campaignKey }, 'gte', 1),
              event({ type: 'OPENED', campaignKey: campaign?.campaignKey }, 'eq', 0),
              field('custom.city', 'neq', 'berlin 7'),
            ],
          },
          {
            and: [
              field('custom.plan', 'notExists'),
              {
                not: {
                  or: [
                    event({ type: 'OPENED' }, 'gte', 1, 'P180D'),
                    event({ type: 'CUSTOM' }, 'gte', 1, 'P180D'),
                  ],
                },
              },
              subscribed(),
            ],
          },
        ],
      },
      sql: `(
        ((b.custom_fields ->> 'plan' is distinct from 'free') and ((b.custom_fields ->> 'age')::int >= 25 or not b.custom_fields ? 'age')
          and b.id in (select e.subscriber_id from messaging.delivery_events e join messaging.campaigns c on c.id = e.campaign_id and '${news?.id}' = any(c.topic_ids)
            where e.environment_id = $1 and e.type ${opens} and e.occurred_at >= $2::timestamptz - interval '90 days' group by e.subscriber_id having count(*) >= 3)
          and (not ${isSubscribed(offers)} or coalesce((b.custom_fields ->> 'vip')::boolean, true)))
        or (b.id in (select d.subscriber_id from messaging.deliveries d where d.source_id = '${campaign?.id}' and d.sent_at is not null)
          and b.id not in (select e.subscriber_id from messaging.delivery_events e where e.campaign_id = '${campaign?.id}' and e.type ${opens} and e.subscriber_id is not null)
          and lower(b.custom_fields ->> 'city') is distinct from 'berlin 7')
        or (not b.custom_fields ? 'plan' and ${isSubscribed()}
          and b.id not in (select e.subscriber_id from messaging.delivery_events e where e.environment_id = $1 and e.type ${opens} and e.occurred_at >= $2::timestamptz - interval '180 days' and e.subscriber_id is not null)
          and b.id not in (select e.subscriber_id from audience.subscriber_events e where e.environment_id = $1 and e.occurred_at >= $2::timestamptz - interval '180 days'))
      )`,
    },
  ];
}
