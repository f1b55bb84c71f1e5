import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type ActivitySource, subscriberActivity, type SubscriberRef, SubscribersQuery } from '#audience';
import { bounceClassesOf } from '#deliverability';
import { offsetOf, type Page, pageOfRows, type PageRequest, type Place, type ProjectScope } from '#kernel';
import { Database, keptFrom, limitOf, ListOrder, named, neverJoined, totalOf } from '#platform';

/** Types of events of people: those of webhooks, and more. */
export const ACTIVITY_TYPES = [
  'subscriber.created',
  'subscriber.updated',
  'consent.pending',
  'consent.granted',
  'consent.confirmed',
  'consent.revoked',
  'consent.expired',
  'event.recorded',
  'email.sent',
  'email.failed',
  'email.bounced',
  'email.opened',
  'email.clicked',
  'email.unsubscribed',
  'email.complained',
  'automation.entered',
  'automation.completed',
  'automation.ended',
] as const;
export type ActivityType = (typeof ACTIVITY_TYPES)[number];

/** Something that happened to a person, or that the person did. */
export interface Activity {
  readonly id: string;
  readonly type: ActivityType;
  readonly timestamp: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

interface ActivityRequest extends PageRequest {
  readonly type?: ActivityType | undefined;
}

/** The days from which on rows are kept. */
interface KeptDays {
  readonly mails: string;
  readonly events: string;
}

const LATEST_FIRST = new ListOrder([
  ['at', 'timestamptz'],
  ['id', 'uuid'],
]);

/** Classes of refusals that are about the address: as in webhooks, these mails bounced, and others failed. */
const BOUNCES = bounceClassesOf(({ address }) => address !== 'keep');

/** Lists what happened to one person, from the tables of all contexts. */
@Injectable()
export class PersonActivityQuery {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscribersQuery,
  ) {}

  /** Newest first. Throws NotFoundError. */
  async page(scope: ProjectScope, ref: SubscriberRef, request: ActivityRequest): Promise<Page<Activity>> {
    const { id } = await this.subscribers.get(scope, ref);
    const { environmentId } = scope;
    return this.database.read(scope, { isList: true }, async () => {
      const kept = await this.#kept(environmentId);
      const { type } = request;
      const sources = [
        ...subscriberActivity(scope, id, kept.events),
        ...mailActivity(environmentId, id, kept),
      ].filter(({ types }) => type === undefined || types.includes(type));
      const counts = sql.join(
        sources.map(({ all }) => sql`(select count(*) from (${all}) a where ${isOf(type)})`),
        sql` + `,
      );
      // Page numbers are part of the text: each would be a statement of its own. `mails` are few: their join compares each with each.
      const name = offsetOf(request) === 0 ? named('person_activity') : sql``;
      const { rows } = await sql<{ total: number } & Activity & { place: Place | null }>`${name}
        with mine as materialized (
          select d.* from messaging.deliveries d
          where d.environment_id = ${environmentId} and d.subscriber_id = ${id} and d.queued_on >= ${kept.mails}::date
        ), page as materialized (
          select * from (${newestOf(sources, request)}) a order by ${LATEST_FIRST.by} ${limitOf(request)}
        ), mails as materialized (
          select d.* from mine d where d.id = any(array(select p.delivery_id from page p))
        )
        select n.total, p.id, p.type, p.at as timestamp, p.data || case when p.delivery_id is null then '{}' else jsonb_build_object(
            'deliveryId', p.delivery_id, 'kind', d.kind, 'email', d.address, 'campaignId', c.id, 'campaignKey', c.campaign_key,
            'automationKey', a.automation_key, 'nodeId', v.node_id, 'messageId', d.message_id) end as data,
          p.place
        from (select ${totalOf(request, counts as RawBuilder<number>)} as total) n
        left join (select *, ${LATEST_FIRST.place} as place from page) p on true
        left join mails d on d.id = p.delivery_id
        left join lateral (
          select c.id, c.campaign_key from messaging.campaigns c
          where d.kind = 'CAMPAIGN' and c.id = d.source_id and c.environment_id = ${environmentId} ${neverJoined}
        ) c on true
        left join lateral (
          select r.version_id from messaging.automation_runs r
          where d.kind = 'AUTOMATION' and r.id = messaging.run_of_step(d.source_id) and r.environment_id = ${environmentId}
          ${neverJoined}
        ) r on true
        left join lateral (
          select v.automation_id, v.nodes::json -> messaging.place_of_step(d.source_id) ->> 'id' as node_id
          from messaging.automation_versions v where v.id = r.version_id and v.environment_id = ${environmentId} ${neverJoined}
        ) v on true
        left join lateral (
          select a.automation_key from messaging.automations a
          where a.id = v.automation_id and a.environment_id = ${environmentId} ${neverJoined}
        ) a on true
        order by p.at desc, p.id desc
      `.execute(this.database.tables());
      const found = rows.flatMap(({ total: _total, place, ...item }) =>
        place === null ? [] : [{ ...item, place }],
      );
      return pageOfRows<Activity>(found, request, rows[0]?.total ?? 0);
    });
  }

  /** Asked before, since on a cluster the node of the rows does not know them. */
  async #kept(environmentId: number): Promise<KeptDays> {
    const { rows } = await sql<KeptDays>`
      select ${keptFrom('DELIVERIES', environmentId)} as mails, ${keptFrom('EVENTS', environmentId)} as events
    `.execute(this.database.tables());
    return rows[0]!;
  }
}

const isOf = (type: ActivityType | undefined): RawBuilder<unknown> =>
  type === undefined ? sql`true` : sql`a.type = ${type}`;

/** The first of each source, of which the page consists. */
function newestOf(sources: readonly ActivitySource[], request: ActivityRequest): RawBuilder<unknown> {
  const isBehind = LATEST_FIRST.isBehind(request);
  const count = offsetOf(request) + request.size + 1;
  return sql.join(
    sources.map(
      ({ all, first }) => sql`(
        select a.* from (${first?.(isBehind, count) ?? all}) a
        where ${isBehind} and ${isOf(request.type)} order by ${LATEST_FIRST.by} limit ${count}
      )`,
    ),
    sql` union all `,
  );
}

/** Activity of a person with mails and in automations; `mine` are the person's deliveries. */
function mailActivity(environmentId: number, subscriberId: string, kept: KeptDays): ActivitySource[] {
  return [
    {
      types: ['email.sent', 'email.failed', 'email.bounced'],
      all: sql`
        select m.at, m.id, m.type, m.data, d.id as delivery_id from mine d cross join lateral (
          values
            (d.sent_at, d.id, 'email.sent', jsonb_build_object('relayKey', d.relay_key)),
            (case when d.state = 'FAILED' then d.finished_at end, d.id,
              case when d.reason = any(${BOUNCES}::text[]) then 'email.bounced' else 'email.failed' end,
              jsonb_build_object('reason', d.reason, 'bounceClass', case when d.reason = any(${BOUNCES}::text[]) then d.reason end,
                'detail', d.last_error)),
            (d.bounced_at, ${otherId(sql`d.id`)}, 'email.bounced',
              jsonb_build_object('reason', d.bounce_class, 'bounceClass', d.bounce_class, 'detail', d.last_error))
        ) m (at, id, type, data)
        where m.at is not null`,
    },
    {
      types: ['email.opened', 'email.clicked', 'email.unsubscribed', 'email.complained'],
      // The classification is asked behind OFFSET: it would lead into an index of all people's events.
      all: sql`
        select e.occurred_at as at, e.id, 'email.' || lower(e.type) as type, case e.type
            when 'OPENED' then jsonb_build_object('agent', e.agent)
            when 'CLICKED' then jsonb_build_object('url', coalesce(e.url, (
              select s.urls[e.link_number] from messaging.link_sets s where s.id = e.link_set and s.environment_id = ${environmentId}
            )), 'linkNumber', e.link_number, 'agent', e.agent)
            else '{}'
          end as data, e.delivery_id
        from (
          select e.* from messaging.delivery_events e
          where e.environment_id = ${environmentId} and e.subscriber_id = ${subscriberId}::uuid and e.occurred_at >= ${kept.events}::date
          ${neverJoined}
        ) e
        where e.type <> 'BOUNCED' and e.classification = 'human'`,
    },
    {
      types: ['email.opened', 'email.clicked'],
      all: sql`
        select e.occurred_at as at, e.id, 'email.' || lower(e.type) as type, case e.type
            when 'OPENED' then jsonb_build_object('agent', e.agent)
            else jsonb_build_object('url', e.url, 'linkNumber', e.link_number, 'agent', e.agent)
          end as data, d.id as delivery_id
        from mine d cross join lateral (
          select e.occurred_at, e.id, e.type, e.url, e.link_number, e.agent from messaging.message_events e
          where e.environment_id = ${environmentId} and e.message_id = d.id and e.type in ('OPENED', 'CLICKED')
            and e.classification = 'human' and e.occurred_at >= ${kept.events}::date
          ${neverJoined}
        ) e
        where d.kind = 'MESSAGE'`,
    },
    {
      types: ['automation.entered', 'automation.completed', 'automation.ended'],
      all: sql`
        select m.at, m.id, m.type, jsonb_build_object('runId', r.id, 'outcome', m.outcome) || (
            select jsonb_build_object('automationKey', a.automation_key, 'automationId', a.id)
            from messaging.automations a where a.number = r.automation_number and a.environment_id = ${environmentId}
          ) as data, null::uuid as delivery_id
        from messaging.automation_runs r cross join lateral (
          values (r.entered_at, r.id, 'automation.entered', null), (r.finished_at, ${otherId(sql`r.id`)},
            case when r.status in ('COMPLETED', 'CONVERTED') then 'automation.completed' else 'automation.ended' end, lower(r.status))
        ) m (at, id, type, outcome)
        where r.environment_id = ${environmentId} and r.subscriber_id = ${subscriberId}::uuid and m.at is not null`,
    },
  ];
}

/** Another id for the second thing that one row tells of: no other row has it. */
const otherId = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`encode(set_byte(uuid_send(${id}), 15, 255 - get_byte(uuid_send(${id}), 15)), 'hex')::uuid`;
