import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { environmentOf } from '#platform';
import { act, type Consent, type ConsentOutcome, type ConsentStatus, type ConsentTopic } from './consent.js';
import { type ConsentOccasion, consentProof, type ConsentProof } from './consent-proof.js';
import {
  STATUS_BY_CONSENT,
  STATUS_OF_SUPPRESSED,
  STATUS_WITHOUT_CONSENT,
  type SubscriberStatus,
  subscriberStatus,
} from './subscriber-status.js';

/** A consent to write, with its previous status. */
export interface WrittenConsent extends Consent {
  readonly subscriberId: string;
  /** The subscriber's; null: take it from the subscriber's row. */
  readonly subscriberStatus: SubscriberStatus | null;
  readonly subscriberCreatedAt: Date | null;
  readonly from: ConsentStatus | null;
  readonly hasExpired: boolean;
}

type Column = readonly [field: keyof WrittenConsent, column: string, type: string];

const OF_SUBSCRIBER: readonly Column[] = [
  ['subscriberId', 'subscriber_id', 'uuid'],
  ['subscriberStatus', 'subscriber_status', 'text'],
  ['subscriberCreatedAt', 'subscriber_created_at', 'timestamptz'],
];
const OF_CONSENT: readonly Column[] = [
  ['topicId', 'topic_id', 'uuid'],
  ['status', 'status', 'text'],
  ['grantedAt', 'granted_at', 'timestamptz'],
  ['confirmedAt', 'confirmed_at', 'timestamptz'],
  ['revokedAt', 'revoked_at', 'timestamptz'],
  ['tokenExpiresAt', 'token_expires_at', 'timestamptz'],
  ['subscribedAt', 'subscribed_at', 'timestamptz'],
];
const BEFORE: readonly Column[] = [
  ['from', 'from_status', 'text'],
  ['hasExpired', 'has_expired', 'boolean'],
];

const stored = names([...OF_SUBSCRIBER, ...OF_CONSENT]);

const INTO = {
  /** First consents, such as those of new subscribers. */
  new: (environment: RawBuilder<unknown>) =>
    sql`insert into audience.consents (environment_id, ${stored}) select ${environment}, ${stored} from changed returning topic_id`,
  changed: (environment: RawBuilder<unknown>) => sql`
    insert into audience.consents (environment_id, ${stored}) select ${environment}, ${stored} from changed
    on conflict (subscriber_id, topic_id, environment_id) do update set status = excluded.status, granted_at = excluded.granted_at,
      confirmed_at = excluded.confirmed_at, revoked_at = excluded.revoked_at,
      token_expires_at = excluded.token_expires_at, subscribed_at = excluded.subscribed_at`,
  removed: (environment: RawBuilder<unknown>) => sql`
    delete from audience.consents c using changed d
    where c.environment_id = ${environment} and c.subscriber_id = d.subscriber_id and c.topic_id = d.topic_id`,
};

/**
 * The rest of a WITH that writes consents, their changes in the consent record, and a confirmation request for each
 * person with pending ones (unless it `asks` nobody). `changed` selects the consents; `asked` returns the ids of the requests.
 */
export function written(
  { environmentId }: Pick<ProjectScope, 'environmentId'>,
  changed: RawBuilder<unknown>,
  into: keyof typeof INTO,
  { at, proof }: ConsentOccasion,
  asks: 'first' | 'again' | 'nobody' = 'first',
): RawBuilder<unknown> {
  const environment = sql`${environmentId}::bigint`;
  // An expiry before the action is not the actor's doing.
  const expiries = sql`
    select ${environment}, ${entry(sql`'PENDING_CONFIRMATION'`, sql`'EXPIRED'`, at, consentProof('EXPIRY', null))} where has_expired union all`;
  return sql`
    changed as materialized (${changed}),
    written as (${INTO[into](environment)}),
    recorded as (
      insert into audience.consent_ledger (environment_id, id, subscriber_id, topic_id, from_status, to_status, occurred_at,
        actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version, message_id,
        text_locale, text_version)
      ${into === 'new' ? sql`` : expiries}
      select ${environment}, ${entry(sql`from_status`, sql`status`, at, proof)} where from_status is distinct from status
      returning id
    ),
    asked as (
      insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
      select platform.new_id(), ${environment}, subscriber_id, array_agg(topic_id), ${asks === 'again'}::boolean, ${at}::timestamptz,
        max(token_expires_at)
      from changed where status = 'PENDING_CONFIRMATION' and ${asks !== 'nobody'}::boolean group by subscriber_id
      returning id
    )
  `;
}

function entry(
  from: RawBuilder<unknown>,
  to: RawBuilder<unknown>,
  at: Date,
  proof: ConsentProof,
): RawBuilder<unknown> {
  return sql`platform.new_id(), subscriber_id, topic_id, ${from}, ${to}, ${at}::timestamptz,
    ${proof.actor}, ${proof.actorId}, ${proof.source}, ${proof.sourceUrl}, ${proof.ipAddress}, ${proof.userAgent},
    ${proof.consentText}, ${proof.formVersion}, ${proof.messageId},
    ${proof.wording?.locale ?? null}, ${proof.wording?.version ?? null}::int from changed`;
}

/** These consents as the `changed` of `written`. */
export function selected(consents: readonly WrittenConsent[]): RawBuilder<unknown> {
  return sql`select * from ${table(consents, [...OF_SUBSCRIBER, ...OF_CONSENT, ...BEFORE])}`;
}

/** The same first consents for all subscribers that the WITH makes as `made` (`id`, `status`, `created_at`). */
export function selectedForMade({ consents }: FirstConsents): RawBuilder<unknown> {
  return sql`
    select m.id as subscriber_id, m.status as subscriber_status, m.created_at as subscriber_created_at, c.*,
      null::text as from_status, false as has_expired
    from made m cross join ${table(consents, OF_CONSENT)}
  `;
}

function table<Row>(rows: readonly Row[], columns: readonly Column[]): RawBuilder<unknown> {
  const arrays = columns.map(
    ([field, , type]) => sql`${rows.map((row) => row[field as keyof Row])}::${sql.raw(type)}[]`,
  );
  return sql`unnest(${sql.join(arrays)}) as c(${names(columns)})`;
}

function names(columns: readonly Column[]): RawBuilder<unknown> {
  return sql.raw(columns.map(([, column]) => column).join(', '));
}

/** The first consents and status of new subscribers whose address is not suppressed. */
export interface FirstConsents {
  readonly outcomes: readonly (ConsentOutcome & { readonly topicId: string })[];
  readonly consents: readonly Consent[];
  /** The status that follows. */
  readonly status: SubscriberStatus;
}

export function firstConsents(topics: readonly ConsentTopic[], at: Date): FirstConsents {
  const outcomes = topics.map((topic) => ({ topicId: topic.id, ...act(null, 'grant', topic, at) }));
  const consents = outcomes.flatMap(({ consent }) => consent ?? []);
  const statuses = consents.map(({ status }) => status);
  return { outcomes, consents, status: subscriberStatus(null, statuses) };
}

/** `subscriberStatus` as SQL, from a suppression's reason; null without a suppression. */
export function statusOfSuppressed(reason: RawBuilder<unknown>): RawBuilder<unknown> {
  const cases = Object.entries(STATUS_OF_SUPPRESSED).map(
    ([one, status]) => sql`when ${reason} = ${sql.lit(one)} then ${sql.lit(status)}`,
  );
  return sql`case ${sql.join(cases, sql` `)} end`;
}

/** `subscriberStatus` as an SQL aggregate over a person's consents, the rows of a table `c`. */
export const statusByConsents: RawBuilder<unknown> = sql`case ${sql.join(
  STATUS_BY_CONSENT.map(
    ([consent, status]) => sql`when bool_or(c.status = ${sql.lit(consent)}) then ${sql.lit(status)}`,
  ),
  sql` `,
)} else ${sql.lit(STATUS_WITHOUT_CONSENT)} end`;

/** A subselect in all, since Citus takes no COALESCE of subselects in an UPDATE. */
const derived = (environment: RawBuilder<unknown>) => sql`(select coalesce(
  (
    select ${statusOfSuppressed(sql`s.reason`)} from audience.suppressions s
    where s.environment_id = ${environment} and s.email_key = b.email_key
  ),
  (
    select ${statusByConsents} from audience.consents c
    where c.environment_id = ${environment} and c.subscriber_id = b.id
  )
))`;

/**
 * An UPDATE that derives the statuses of these subscribers again and writes only those that change. It repeats the
 * condition instead of joining: while a project grows faster than its statistics, the planner would join by reading all
 * subscribers.
 */
export function refreshedStatuses(
  scope: Pick<ProjectScope, 'environmentId'>,
  subscriberIds: readonly string[],
  at: Date,
): RawBuilder<unknown> {
  const environment = environmentOf(scope);
  return sql`
    update audience.subscribers b set status = ${derived(environment)}, updated_at = ${at}
    where b.environment_id = ${environment} and b.id = any(${[...subscriberIds]}::uuid[]) and b.status <> ${derived(environment)}
  `;
}
