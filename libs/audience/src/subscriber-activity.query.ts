import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';

/** Things that happened to a person, from one table. */
export interface ActivitySource {
  readonly types: readonly string[];
  /** SELECT of all of them: `at`, `id`, `type`, `data` (jsonb), and the `delivery_id` of the mail that they are about or null. */
  readonly all: RawBuilder<unknown>;
  /** SELECT of at least the first `count` of those that are behind a place, where `all` are too many to be sorted. */
  readonly first?: (isBehind: RawBuilder<boolean>, count: number) => RawBuilder<unknown>;
}

/** Activity of a person that the audience knows; events from `keptFrom` on, a day. */
export function subscriberActivity(
  { environmentId }: ProjectScope,
  subscriberId: string,
  keptFrom: string,
): readonly ActivitySource[] {
  const ofPerson = sql`e.environment_id = ${environmentId} and e.subscriber_id = ${subscriberId}::uuid`;
  const events = sql`
    select e.occurred_at as at, e.id, 'event.recorded'::text as type,
      jsonb_build_object('name', e.name, 'properties', e.properties, 'uniqueId', e.unique_id) as data, null::uuid as delivery_id
    from audience.subscriber_events e where ${ofPerson} and e.occurred_at >= ${keptFrom}::date`;
  return [
    {
      types: ['subscriber.created'],
      all: sql`
        select e.created_at as at, e.id, 'subscriber.created'::text as type, jsonb_build_object('source', e.source) as data,
          null::uuid as delivery_id
        from audience.subscribers e where e.environment_id = ${environmentId} and e.id = ${subscriberId}::uuid`,
    },
    {
      types: ['subscriber.updated'],
      all: sql`
        select e.occurred_at as at, e.id, 'subscriber.updated'::text as type,
          jsonb_build_object('changes', e.changes, 'actor', e.actor, 'actorId', e.actor_id) as data, null::uuid as delivery_id
        from audience.field_changes e where ${ofPerson} and e.occurred_at >= ${keptFrom}::date`,
    },
    {
      types: [
        'consent.pending',
        'consent.granted',
        'consent.confirmed',
        'consent.revoked',
        'consent.expired',
      ],
      all: sql`
        select e.occurred_at as at, e.id, case e.to_status
            when 'PENDING_CONFIRMATION' then 'consent.pending' when 'UNSUBSCRIBED' then 'consent.revoked'
            when 'EXPIRED' then 'consent.expired'
            else case e.from_status when 'PENDING_CONFIRMATION' then 'consent.confirmed' else 'consent.granted' end
          end as type,
          jsonb_build_object('from', e.from_status, 'to', e.to_status, 'actor', e.actor, 'actorId', e.actor_id, 'source', e.source) || (
            select jsonb_build_object('topicKey', t.topic_key, 'topicName', t.name)
            from audience.topics t where t.environment_id = ${environmentId} and t.id = e.topic_id
          ) as data,
          null::uuid as delivery_id
        from audience.consent_ledger e
        where ${ofPerson} and e.from_status is distinct from e.to_status`,
    },
    {
      types: ['event.recorded'],
      all: events,
      // The index has a person's events by name, of which there are few, and time: none is sorted.
      first: (isBehind, count) => sql`
        with recursive names (name) as (
          (select e.name from audience.subscriber_events e where ${ofPerson} order by e.name limit 1)
          union all
          select (
            select e.name from audience.subscriber_events e where ${ofPerson} and e.name > n.name order by e.name limit 1
          ) from names n where n.name is not null
        )
        select e.* from names n cross join lateral (
          select * from (${events} and e.name = n.name) e where ${isBehind}
          order by at desc fetch first ${sql.lit(count)} rows with ties
        ) e`,
    },
  ];
}
