import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { templateDefaults } from '../custom-fields/custom-field-values.js';
import { CustomFieldsQuery } from '../custom-fields/custom-fields.query.js';
import { prepareForSets } from '../segments/segment-evaluations.service.js';
import { SegmentPredicates } from '../segments/segment-predicates.service.js';
import { activeValues } from './subscriber.repository.js';

/** Who a claimed mail goes to, with what its merge tags need. */
export interface Recipient {
  readonly subscriberId: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  /** The values of active fields by key, the field's default where the person has none. */
  readonly customFields: CustomFieldValues;
  /** Those of the asked topics that the person is subscribed to, by name. */
  readonly topicNames: readonly string[];
  /** Why no mail may go now; the first that applies. */
  readonly obstacle: 'suppressed' | 'unsubscribed' | 'paused' | null;
}

/** Who a campaign would reach, each person counted once: `matched` is the sum of the others. */
export interface AudienceBreakdown {
  /** Asked for mail to a topic, whether they confirmed it or not. */
  readonly matched: number;
  readonly unconfirmed: number;
  /** On the suppression list by their own wish or by complaint. */
  readonly suppressed: number;
  readonly bounced: number;
  /** Held back for now: they paused all mail. */
  readonly capped: number;
  readonly willReceive: number;
}

/** Comes before every id (RFC 9562 §5.9). */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Whom a mail is for: the topics, and the segments if any are named. */
export interface ChosenAudience {
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
}

/** How an audience is walked. */
export interface AudienceWalk {
  /** The last of the subscribers that were seen. */
  readonly after?: string | undefined;
  /** The id of a frozen audience. */
  readonly frozen?: string | undefined;
}

/** Who gets mail to topics: subscribed to at least one, not suppressed, not paused. */
@Injectable()
export class RecipientsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CustomFieldsQuery) private readonly fields: CustomFieldsQuery,
    @Inject(SegmentPredicates) private readonly segments: SegmentPredicates,
  ) {}

  /**
   * A complete SELECT of `subscriber_id uuid, address text, address_key text`: everyone who would get a mail to
   * these topics, once, as the consents stood at `asOf` as far as they still stand. It has no order or limit.
   * Who walks it in chunks, `order by subscriber_id limit …`, passes the last id as `after`: outside of the
   * SELECT that condition reaches the subscribers, but not the index of the consents, which each chunk would
   * then read from its beginning. With `frozen` it is those of that frozen audience alone.
   */
  audience(
    scope: ProjectScope,
    topicIds: readonly string[],
    asOf: Date,
    { after = FIRST_ID, frozen }: AudienceWalk = {},
  ): RawBuilder<unknown> {
    const people =
      frozen === undefined
        ? sql`audience.subscribers b where`
        : sql`audience.frozen_audience_members f join audience.subscribers b on b.id = f.subscriber_id
            where f.environment_id = ${scope.environmentId} and f.audience_id = ${frozen}
              and f.subscriber_id > ${after}::uuid and`;
    return recipientsAmong(people, scope, topicIds, { asOf, after });
  }

  /** How many the audience has: of the topics, and of at least one of the segments if any are named. */
  count(scope: ProjectScope, { topicIds, segmentIds }: ChosenAudience, asOf: Date): Promise<number> {
    return this.database.transaction(scope, async ({ db }) => {
      if (segmentIds.length > 0) await prepareForSets(db);
      const { rows } = await sql<{ count: number }>`
        select count(*) from (${await this.#chosen(scope, { topicIds, segmentIds }, asOf)}) a
      `.execute(db);
      return rows[0]!.count;
    });
  }

  /**
   * Writes down who the audience is, under the id of who will walk it: rules would be evaluated for each chunk
   * anew, and could change in between. For one moment it is done once.
   */
  freeze(scope: ProjectScope, id: string, chosen: ChosenAudience, asOf: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      const { numAffectedRows } = await sql`
        insert into audience.frozen_audiences (id, environment_id, frozen_at)
        values (${id}, ${scope.environmentId}, ${asOf})
        on conflict (id) do update set frozen_at = excluded.frozen_at
        where frozen_audiences.frozen_at <> excluded.frozen_at
      `.execute(db);
      if (numAffectedRows === 0n) return;
      await sql`
        delete from audience.frozen_audience_members
        where environment_id = ${scope.environmentId} and audience_id = ${id}
      `.execute(db);
      await prepareForSets(db);
      await sql`
        insert into audience.frozen_audience_members (audience_id, subscriber_id, environment_id)
        select ${id}, a.subscriber_id, ${scope.environmentId} from (${await this.#chosen(scope, chosen, asOf)}) a
      `.execute(db);
    });
  }

  /** Forgets a frozen audience. */
  thaw(scope: ProjectScope, id: string): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        delete from audience.frozen_audiences where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  async #chosen(
    scope: ProjectScope,
    { topicIds, segmentIds }: ChosenAudience,
    asOf: Date,
  ): Promise<RawBuilder<unknown>> {
    if (segmentIds.length === 0) return this.audience(scope, topicIds, asOf);
    const isInSegment = await this.segments.anyOf(scope, segmentIds, asOf);
    const people = sql`audience.scoped_subscribers b where ${isInSegment} and`;
    return recipientsAmong(people, scope, topicIds, { asOf, after: FIRST_ID });
  }

  /** The audience and those who are left out of it, by the first reason that applies, in one pass. */
  breakdown(
    scope: ProjectScope,
    { topicIds, segmentIds }: ChosenAudience,
    asOf: Date,
  ): Promise<AudienceBreakdown> {
    return this.database.transaction(scope, async ({ db }) => {
      const people =
        segmentIds.length === 0
          ? sql`audience.subscribers b on true`
          : sql`audience.scoped_subscribers b on ${await this.segments.anyOf(scope, segmentIds, asOf)}`;
      const { rows } = await sql<AudienceBreakdown>`
        select count(*) as matched,
          count(*) filter (where p.standing = 'bounced') as bounced,
          count(*) filter (where p.standing = 'suppressed') as suppressed,
          count(*) filter (where p.standing = 'unconfirmed') as unconfirmed,
          count(*) filter (where p.standing = 'paused') as capped,
          count(*) filter (where p.standing is null) as "willReceive"
        from (
          select case when s.reason = 'HARD_BOUNCE' then 'bounced' when s.reason is not null then 'suppressed'
            when not k.subscribed then 'unconfirmed' when b.paused_until > ${asOf} then 'paused' end as standing
          from (
            select c.subscriber_id, bool_or(c.status = 'SUBSCRIBED') as subscribed
            from audience.consents c
            where c.environment_id = ${scope.environmentId} and ${oneOf(topicIds)}
              and (c.status = 'PENDING_CONFIRMATION' or (c.status = 'SUBSCRIBED' and c.subscribed_at <= ${asOf}))
            group by c.subscriber_id
          ) k
          join ${people} and b.id = k.subscriber_id and b.environment_id = ${scope.environmentId}
          left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
        ) p
      `.execute(db);
      return rows[0]!;
    });
  }

  /**
   * A condition of SQL: whether the subscriber with this id may get mail to one of these topics (`uuid[]`) now. It
   * says of each what `lookUp` says by a null `obstacle`.
   */
  mayReceive(
    subscriberId: RawBuilder<unknown>,
    topicIds: RawBuilder<unknown>,
    now: Date,
  ): RawBuilder<unknown> {
    return sql`exists (
      select from audience.subscribers b
      where b.id = ${subscriberId} and (b.paused_until is null or b.paused_until <= ${now})
        and exists (
          select from audience.consents k
          where k.subscriber_id = b.id and k.topic_id = any(${topicIds}) and k.status = 'SUBSCRIBED'
        )
        and not exists (
          select from audience.suppressions s where s.environment_id = b.environment_id and s.email_key = b.email_key
        )
    )`;
  }

  /** The recipients among these subscribers, by id; one that is missing was erased. */
  lookUp(
    scope: ProjectScope,
    topicIds: readonly string[],
    subscriberIds: readonly string[],
    now: Date,
  ): Promise<ReadonlyMap<string, Recipient>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Recipient>`
        select b.id as "subscriberId", b.email, b.first_name as "firstName", b.last_name as "lastName", b.phone,
          ${activeValues} as "customFields", coalesce(c.names, '{}') as "topicNames",
          case when s.email_key is not null then 'suppressed' when c.names is null then 'unsubscribed'
            when b.paused_until > ${now} then 'paused' end as obstacle
        from audience.subscribers b
        left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
        left join lateral (
          select array_agg(t.name order by t.name, t.id) as names
          from audience.consents c join audience.topics t on t.id = c.topic_id
          where c.subscriber_id = b.id and ${oneOf(topicIds)} and c.status = 'SUBSCRIBED'
        ) c on true
        where b.environment_id = ${scope.environmentId} and b.id = any(${[...subscriberIds]}::uuid[])
      `.execute(db);
      const defaults = templateDefaults(await this.fields.definitions(scope));
      return new Map(
        rows.map((recipient) => [
          recipient.subscriberId,
          { ...recipient, customFields: { ...defaults, ...recipient.customFields } },
        ]),
      );
    });
  }
}

/** `people` is a FROM with the beginning of its WHERE, whose `b` is a subscriber. */
function recipientsAmong(
  people: RawBuilder<unknown>,
  { environmentId }: ProjectScope,
  topicIds: readonly string[],
  { asOf, after }: { readonly asOf: Date; readonly after: string },
): RawBuilder<unknown> {
  return sql`
    select b.id as subscriber_id, b.email as address, b.email_key as address_key
    from ${people} b.environment_id = ${environmentId} and b.id > ${after}::uuid
      and (b.paused_until is null or b.paused_until <= ${asOf})
      and exists (
        select from audience.consents c
        where c.environment_id = ${environmentId} and c.subscriber_id = b.id and ${oneOf(topicIds)}
          and c.subscriber_id > ${after}::uuid and c.status = 'SUBSCRIBED' and c.subscribed_at <= ${asOf}
      )
      and not exists (
        select from audience.suppressions s
        where s.environment_id = ${environmentId} and s.email_key = b.email_key
      )
  `;
}

/** One topic is compared directly: the planner then knows that a subscriber has one consent to it. */
function oneOf(topicIds: readonly string[]): RawBuilder<unknown> {
  const [only, ...others] = topicIds;
  if (only !== undefined && others.length === 0) return sql`c.topic_id = ${only}::uuid`;
  return sql`c.topic_id = any(${[...topicIds]}::uuid[])`;
}
