import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';

/** Who a claimed mail goes to, with what its merge tags need. */
export interface Recipient {
  readonly subscriberId: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  readonly customFields: Readonly<Record<string, unknown>>;
  /** Those of the asked topics that the person is subscribed to, by name. */
  readonly topicNames: readonly string[];
  /** Why no mail may go now; the first that applies. */
  readonly obstacle: 'suppressed' | 'unsubscribed' | 'paused' | null;
}

/** Comes before every id (RFC 9562 §5.9). */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Who gets mail to topics: subscribed to at least one, not suppressed, not paused. */
@Injectable()
export class RecipientsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /**
   * A complete SELECT of `subscriber_id uuid, address text, address_key text`: everyone who would get a mail to
   * these topics, once, as the consents stood at `asOf` as far as they still stand. It has no order or limit.
   * Who walks it in chunks, `order by subscriber_id limit …`, passes the last id as `after`: outside of the
   * SELECT that condition reaches the subscribers, but not the index of the consents, which each chunk would
   * then read from its beginning.
   */
  audience(
    scope: ProjectScope,
    topicIds: readonly string[],
    asOf: Date,
    after: string = FIRST_ID,
  ): RawBuilder<unknown> {
    return sql`
      select b.id as subscriber_id, b.email as address, b.email_key as address_key
      from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id > ${after}::uuid
        and (b.paused_until is null or b.paused_until <= ${asOf})
        and exists (
          select from audience.consents c
          where c.environment_id = ${scope.environmentId} and c.subscriber_id = b.id and ${oneOf(topicIds)}
            and c.subscriber_id > ${after}::uuid and c.status = 'SUBSCRIBED' and c.subscribed_at <= ${asOf}
        )
        and not exists (
          select from audience.suppressions s
          where s.environment_id = ${scope.environmentId} and s.email_key = b.email_key
        )
    `;
  }

  /** How many the audience has. */
  count(scope: ProjectScope, topicIds: readonly string[], asOf: Date): Promise<number> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ count: number }>`
        select count(*) from (${this.audience(scope, topicIds, asOf)}) a
      `.execute(db);
      return rows[0]!.count;
    });
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
          b.custom_fields as "customFields", coalesce(c.names, '{}') as "topicNames",
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
      return new Map(rows.map((recipient) => [recipient.subscriberId, recipient]));
    });
  }
}

/** One topic is compared directly: the planner then knows that a subscriber has one consent to it. */
function oneOf(topicIds: readonly string[]): RawBuilder<unknown> {
  const [only, ...others] = topicIds;
  if (only !== undefined && others.length === 0) return sql`c.topic_id = ${only}::uuid`;
  return sql`c.topic_id = any(${[...topicIds]}::uuid[])`;
}
