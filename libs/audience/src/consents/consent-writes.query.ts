import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import {
  type ChangeContext,
  type Consent,
  consentProof,
  type ConsentStatus,
  type FirstConsents,
  type SubscriberStatus,
} from './consent.js';

/** A consent to write, with its previous status. */
export interface WrittenConsent extends Consent {
  readonly subscriberId: string;
  /** The subscriber's; null: take it from the subscriber's row. */
  readonly subscriberStatus: SubscriberStatus | null;
  readonly subscriberCreatedAt: Date | null;
  readonly from: ConsentStatus | null;
  readonly hasExpired: boolean;
}

const CONSENT_COLUMNS = sql.raw(
  'topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at',
);
/** The columns of audience.consents, but for the environment. */
const COLUMNS = sql`subscriber_id, subscriber_status, subscriber_created_at, ${CONSENT_COLUMNS}`;

/** The confirmation requests that pending consents cause: first mails, repeats or none. */
export type Asked = 'first' | 'again' | 'nobody';

interface Requests {
  readonly asks?: Asked;
  /** For one person. */
  readonly confirmationId?: string;
}

/**
 * The rest of a WITH that writes consents, their changes in the consent record, and a confirmation request for each person with
 * pending ones. `changed` selects the consents; `asked` returns the ids of the requests.
 */
export function written(
  { environmentId }: Pick<ProjectScope, 'environmentId'>,
  changed: RawBuilder<unknown>,
  into: 'new' | 'changed' | 'removed',
  { at, proof, addressChange = null }: ChangeContext,
  { asks = 'first', confirmationId }: Requests = {},
): RawBuilder<unknown> {
  const environment = sql`${environmentId}::bigint`;
  const inserted = sql`insert into audience.consents (environment_id, ${COLUMNS}) select ${environment}, ${COLUMNS} from changed`;
  const writing = {
    // Citus copies what is selected, past row-level security, unless the insert returns something (docs/internals/sharding.md).
    new: sql`${inserted} returning topic_id`,
    changed: sql`${inserted}
      on conflict (subscriber_id, topic_id, environment_id) do update
        set status = excluded.status, granted_at = excluded.granted_at,
        confirmed_at = excluded.confirmed_at, revoked_at = excluded.revoked_at,
        token_expires_at = excluded.token_expires_at, subscribed_at = excluded.subscribed_at,
        subscriber_status = excluded.subscriber_status`,
    removed: sql`delete from audience.consents c using changed d
      where c.environment_id = ${environment} and c.subscriber_id = d.subscriber_id and c.topic_id = d.topic_id`,
  };
  // An expiry before the action is not the actor's doing.
  const expiries = sql`
    select ${environment}, ${entry(sql`'PENDING_CONFIRMATION'`, sql`'EXPIRED'`, { at, proof: consentProof('EXPIRY', null) })}
    where has_expired union all`;
  return sql`
    changed as materialized (${changed}),
    written as (${writing[into]}),
    recorded as (
      insert into audience.consent_ledger (environment_id, id, subscriber_id, topic_id, from_status, to_status, occurred_at,
        actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version, message_id,
        text_locale, text_version, address_change)
      ${into === 'new' ? sql`` : expiries}
      select ${environment}, ${entry(sql`from_status`, sql`status`, { at, proof, addressChange })}
      where from_status is distinct from status or ${addressChange !== null}::boolean
      returning id
    ),
    asked as (
      insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
      select ${confirmationId === undefined ? sql`platform.new_id()` : sql`${confirmationId}::uuid`}, ${environment}, subscriber_id, array_agg(topic_id), ${asks === 'again'}::boolean,
        ${at}::timestamptz,
        max(token_expires_at)
      from changed where status = 'PENDING_CONFIRMATION' and ${asks !== 'nobody'}::boolean group by subscriber_id
      returning id
    )
  `;
}

function entry(
  from: RawBuilder<unknown>,
  to: RawBuilder<unknown>,
  { at, proof, addressChange = null }: ChangeContext,
): RawBuilder<unknown> {
  return sql`platform.new_id(), subscriber_id, topic_id, ${from}, ${to}, ${at}::timestamptz,
    ${proof.actor}, ${proof.actorId}, ${proof.source}, ${proof.sourceUrl}, ${proof.ipAddress}, ${proof.userAgent},
    ${proof.consentText}, ${proof.formVersion}, ${proof.messageId},
    ${proof.wording?.locale ?? null}, ${proof.wording?.version ?? null}::int,
    ${addressChange === null ? null : JSON.stringify(addressChange)}::jsonb from changed`;
}

/** These consents as the `changed` of `written`. */
export function selected(consents: readonly WrittenConsent[]): RawBuilder<unknown> {
  return sql`
    select * from unnest(
      ${consents.map((one) => one.subscriberId)}::uuid[], ${consents.map((one) => one.subscriberStatus)}::text[],
      ${consents.map((one) => one.subscriberCreatedAt)}::timestamptz[], ${arraysOf(consents)},
      ${consents.map((one) => one.from)}::text[], ${consents.map((one) => one.hasExpired)}::boolean[]
    ) as c(${COLUMNS}, from_status, has_expired)`;
}

/** The same first consents for each subscriber in `made`. */
export function selectedForMade({ consents }: FirstConsents): RawBuilder<unknown> {
  return sql`
    select m.id as subscriber_id, m.status as subscriber_status, m.created_at as subscriber_created_at, c.*,
      null::text as from_status, false as has_expired
    from made m cross join unnest(${arraysOf(consents)}) as c(${CONSENT_COLUMNS})
  `;
}

/** The values of `CONSENT_COLUMNS`, an array each. */
function arraysOf(consents: readonly Consent[]): RawBuilder<unknown> {
  return sql`${consents.map((one) => one.topicId)}::uuid[], ${consents.map((one) => one.status)}::text[],
    ${consents.map((one) => one.grantedAt)}::timestamptz[], ${consents.map((one) => one.confirmedAt)}::timestamptz[],
    ${consents.map((one) => one.revokedAt)}::timestamptz[], ${consents.map((one) => one.tokenExpiresAt)}::timestamptz[],
    ${consents.map((one) => one.subscribedAt)}::timestamptz[]`;
}
