import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, neverJoined } from '#platform';
import { type AudienceSurvey, breakdownByDomain, oneOf, surveyOf } from './audience-breakdown.query.js';
import { templateDefaults } from './custom-fields/custom-field-values.js';
import type { CustomFieldValues } from './custom-fields/custom-field.js';
import { CustomFieldsQuery } from './custom-fields/custom-field.repository.js';
import { plannedForRules, plannedForSets } from './rules/set-plans.query.js';
import { SubscriberRulesService } from './rules/subscriber-rules.service.js';
import { activeValues } from './subscribers/subscriber.repository.js';

/** The recipient of a claimed mail, with the values for its merge tags. */
export interface Recipient {
  readonly subscriberId: string;
  readonly email: string;
  readonly externalId: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  /** BCP 47; null: not known. */
  readonly locale: string | null;
  readonly timeZone: string | null;
  /** The values of active fields by key, the field's default where the person has none. */
  readonly customFields: CustomFieldValues;
  /** Names of the asked topics that the person is subscribed to. */
  readonly topicNames: readonly string[];
  /** The first reason why no mail may be sent now, or null. */
  readonly obstacle: 'suppressed' | 'unsubscribed' | 'paused' | null;
  /** End of the person's latest pause of all mail. */
  readonly pausedUntil: Date | null;
}

/** The audience of a mail: topics, and segments if any are named. */
export interface ChosenAudience {
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
  /** SQL condition on the subscriber with this id, who is among the audience only where it holds. */
  readonly among?: ((subscriberId: RawBuilder<unknown>) => RawBuilder<boolean>) | undefined;
}

/** A page of an audience. */
export interface AudienceChunk {
  /** The last subscriber of the page before. */
  readonly after?: string | undefined;
  /** The id of a frozen audience. */
  readonly frozen?: string | undefined;
  /** Number of candidates. */
  readonly size: number;
}

/** Comes before every id (RFC 9562 §5.9). */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const isSubscribedAt = (asOf: Date): RawBuilder<unknown> =>
  sql`c.status = 'SUBSCRIBED' and c.subscribed_at <= ${asOf}`;

/** The recipients of topics: subscribed to at least one, not suppressed, not paused. */
@Injectable()
export class RecipientsQuery {
  constructor(
    private readonly database: Database,
    private readonly fields: CustomFieldsQuery,
    private readonly segments: SubscriberRulesService,
  ) {}

  /**
   * The rest of a WITH: `candidates (subscriber_id)`, the next `size` people after `after`, fewer at the end, all or of a
   * `frozen` audience; and `audience (subscriber_id uuid, address, address_key, locale, time_zone text)`, those who would
   * get a mail to these topics by their consents at `asOf`, as far as these still hold.
   */
  audience(
    scope: ProjectScope,
    topicIds: readonly string[],
    asOf: Date,
    { after = FIRST_ID, frozen, size }: AudienceChunk,
  ): RawBuilder<unknown> {
    const { environmentId } = scope;
    const isOfOneTopic = frozen === undefined && topicIds.length === 1;
    // Each comes from an index in the order of the ids.
    const everybody = isOfOneTopic
      ? sql`select c.subscriber_id from audience.consents c
          where c.environment_id = ${environmentId} and c.topic_id = ${topicIds[0]} and ${isSubscribedAt(asOf)}
            and c.subscriber_id > ${after}::uuid`
      : sql`select b.id as subscriber_id from audience.subscribers b
          where b.environment_id = ${environmentId} and b.id > ${after}::uuid`;
    const chosen = sql`select f.subscriber_id from audience.frozen_audience_members f
          where f.environment_id = ${environmentId} and f.audience_id = ${frozen} and f.subscriber_id > ${after}::uuid`;
    const isSubscribed = sql`exists (
          select 1 from audience.consents c
          where c.environment_id = ${scope.environmentId} and c.subscriber_id = p.id and ${oneOf(topicIds)} and ${isSubscribedAt(asOf)}
          ${neverJoined}
        )`;
    // All but the candidates is looked up one by one: a join would read the whole topic for each page.
    return sql`candidates as materialized (
        ${frozen === undefined ? everybody : chosen} order by 1 limit ${size}
      ), people as materialized (
        select b.id, b.email, b.email_key, b.locale, b.time_zone from audience.subscribers b
        where b.environment_id = ${scope.environmentId} and b.id = any(array(select subscriber_id from candidates))
          and (b.paused_until is null or b.paused_until <= ${asOf})
      ), audience as (
        select p.id as subscriber_id, p.email as address, p.email_key as address_key, p.locale, p.time_zone from people p
        where not exists (
          select 1 from audience.suppressions s where s.environment_id = ${environmentId} and s.email_key = p.email_key ${neverJoined}
        ) and ${isOfOneTopic ? sql`true` : isSubscribed}
      )`;
  }

  /** The known time zones among the candidates of `audience` with the same arguments. */
  timeZones(
    scope: ProjectScope,
    topicIds: readonly string[],
    asOf: Date,
    chunk: AudienceChunk,
  ): Promise<readonly string[]> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ zone: string }>`
        with ${this.audience(scope, topicIds, asOf, chunk)}
        select distinct p.time_zone as zone from people p where p.time_zone is not null
      `.execute(this.#db);
      return rows.map(({ zone }) => zone);
    });
  }

  /** Size of the audience of the topics, and of at least one of the segments if any are named. */
  count(scope: ProjectScope, { topicIds, segmentIds }: ChosenAudience, asOf: Date): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { rows } = await this.#chosen(scope, { topicIds, segmentIds }, asOf, (chosen) =>
        sql<{ count: number }>`select count(*) from (${chosen}) a`.execute(this.#db),
      );
      return rows[0]!.count;
    });
  }

  /**
   * Stores the audience of this moment under the id of its reader. Otherwise each chunk would evaluate the rules again, which
   * could change in between.
   */
  freeze(scope: ProjectScope, id: string, chosen: ChosenAudience, asOf: Date): Promise<void> {
    return this.database.transaction(scope, async () => {
      const { numAffectedRows } = await sql`
        insert into audience.frozen_audiences (id, environment_id, frozen_at)
        values (${id}, ${scope.environmentId}, ${asOf})
        on conflict (id, environment_id) do update set frozen_at = excluded.frozen_at
        where frozen_audiences.frozen_at <> excluded.frozen_at
      `.execute(this.#db);
      if (numAffectedRows === 0n) return;
      await sql`
        delete from audience.frozen_audience_members
        where environment_id = ${scope.environmentId} and audience_id = ${id}
      `.execute(this.#db);
      await this.#chosen(scope, chosen, asOf, (audience) =>
        sql`
          insert into audience.frozen_audience_members (audience_id, subscriber_id, environment_id)
          select ${id}, a.subscriber_id, a.environment_id from (${audience}) a
        `.execute(this.#db),
      );
    });
  }

  /** Deletes a frozen audience. */
  release(scope: ProjectScope, id: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      await sql`
        delete from audience.frozen_audiences where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(this.#db);
    });
  }

  /** Runs `work` with a SELECT of the audience. */
  #chosen<T>(
    scope: ProjectScope,
    { topicIds, segmentIds }: ChosenAudience,
    asOf: Date,
    work: (chosen: RawBuilder<unknown>) => Promise<T>,
  ): Promise<T> {
    return this.#people(scope, segmentIds, asOf, (people, areChosen) =>
      work(sql`
          select b.environment_id, b.id as subscriber_id, b.email as address, b.email_key as address_key
          from ${people}
          where ${areChosen} and b.environment_id = ${scope.environmentId}
            and (b.paused_until is null or b.paused_until <= ${asOf})
            and exists (
              select 1 from audience.consents c
              where c.environment_id = ${scope.environmentId} and c.subscriber_id = b.id
                and ${oneOf(topicIds)} and ${isSubscribedAt(asOf)}
            )
            and not exists (
              select 1 from audience.suppressions s
              where s.environment_id = ${scope.environmentId} and s.email_key = b.email_key
            )
        `),
    );
  }

  /** Runs `work`, planned for sets, with the members of the segments: a table `b` and a condition. */
  async #people<T>(
    scope: ProjectScope,
    segmentIds: readonly string[],
    asOf: Date,
    work: (people: RawBuilder<unknown>, areChosen: RawBuilder<boolean>) => Promise<T>,
  ): Promise<T> {
    if (segmentIds.length === 0)
      return plannedForSets(this.database, () => work(sql`audience.subscribers b`, sql`true`));
    const areChosen = await this.segments.anyOf(scope, segmentIds, asOf);
    return plannedForRules(this.database, scope, areChosen, () =>
      work(sql`audience.scoped_subscribers b`, areChosen),
    );
  }

  /**
   * Counts the audience and the people left out of it, by the first reason that applies, in one pass, and the recipients at each
   * of `domains` (lower-case A-labels).
   */
  survey(
    scope: ProjectScope,
    { topicIds, segmentIds, among }: ChosenAudience,
    domains: readonly string[],
    asOf: Date,
  ): Promise<AudienceSurvey> {
    return this.database.transaction(scope, async () => {
      // Otherwise each process would aggregate all consents for itself.
      if (topicIds.length > 1) await sql`set local max_parallel_workers_per_gather = 0`.execute(this.#db);
      const isAmong = among?.(sql`b.id`) ?? sql`true`;
      const { rows } = await this.#people(scope, segmentIds, asOf, (people, areChosen) =>
        breakdownByDomain(
          sql`${people} on ${areChosen} and ${isAmong}`,
          scope,
          { topicIds, domains },
          asOf,
        ).execute(this.#db),
      );
      return surveyOf(rows);
    });
  }

  /**
   * SQL condition: the subscriber with this id may get mail to one of these topics (`uuid[]`) now, as with a null `obstacle` of
   * `lookUp`.
   */
  mayReceive(
    scope: ProjectScope,
    subscriberId: RawBuilder<unknown>,
    topicIds: RawBuilder<unknown>,
    now: Date,
  ): RawBuilder<unknown> {
    const { environmentId } = scope;
    return sql`exists (
      select 1 from audience.subscribers b
      where b.id = ${subscriberId} and b.environment_id = ${environmentId} and (b.paused_until is null or b.paused_until <= ${now})
        and exists (
          select 1 from audience.consents k
          where k.subscriber_id = b.id and k.environment_id = ${environmentId}
            and k.topic_id = any(${topicIds}) and k.status = 'SUBSCRIBED'
        )
        and not exists (
          select 1 from audience.suppressions s where s.environment_id = ${environmentId} and s.email_key = b.email_key
        )
    )`;
  }

  /** SQL condition: the address with this key is that of a subscriber to the topic. */
  isSubscribed(
    { environmentId }: ProjectScope,
    emailKey: RawBuilder<unknown>,
    topicId: RawBuilder<unknown>,
  ): RawBuilder<boolean> {
    return sql<boolean>`exists (
      select 1 from audience.subscribers b join audience.consents c on c.environment_id = b.environment_id and c.subscriber_id = b.id
      where b.environment_id = ${environmentId} and b.email_key = ${emailKey}
        and c.environment_id = ${environmentId} and c.topic_id = ${topicId} and c.status = 'SUBSCRIBED' ${neverJoined}
    )`;
  }

  /** The recipients among these subscribers, by id; missing ones were erased. */
  lookUp(
    scope: ProjectScope,
    topicIds: readonly string[],
    subscriberIds: readonly string[],
    now: Date,
  ): Promise<ReadonlyMap<string, Recipient>> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<Recipient>`
        select b.id as subscriber_id, b.email, b.external_id, b.first_name, b.last_name, b.phone, b.locale, b.time_zone,
          ${activeValues(scope)} as custom_fields, coalesce(c.names, '{}') as topic_names,
          case when s.email_key is not null then 'suppressed' when c.names is null then 'unsubscribed'
            when b.paused_until > ${now} then 'paused' end as obstacle, b.paused_until
        from unnest(${[...subscriberIds]}::uuid[]) wanted(id)
        cross join lateral (
          select * from audience.subscribers b
          where b.environment_id = ${scope.environmentId} and b.id = wanted.id ${neverJoined}
        ) b
        left join audience.suppressions s on s.environment_id = ${scope.environmentId} and s.email_key = b.email_key
        left join lateral (
          select array_agg(t.name order by t.name, t.id) as names
          from audience.consents c join audience.topics t on t.environment_id = c.environment_id and t.id = c.topic_id
          where c.environment_id = ${scope.environmentId} and c.subscriber_id = b.id
            and ${oneOf(topicIds)} and c.status = 'SUBSCRIBED'
        ) c on true
      `.execute(this.#db);
      const defaults = templateDefaults(await this.fields.definitions(scope));
      return new Map(
        rows.map((recipient) => [
          recipient.subscriberId,
          { ...recipient, customFields: { ...defaults, ...recipient.customFields } },
        ]),
      );
    });
  }

  get #db() {
    return this.database.tables<unknown>();
  }
}
