import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { CONFIRMATION_VALID_MS } from '../consents/consent.js';
import type { ConsentOccasion } from '../consents/consent-changes.service.js';
import type { Topic } from '../topics/topic.js';

/** A consent that its owner took back. */
export interface RefusedConsent {
  readonly subscriberId: string;
  readonly topicId: string;
}

/** What became of a grant. */
export interface GrantedConsents {
  /** Whose consents changed. */
  readonly subscriberIds: readonly string[];
  /** Requests to confirm, whose mails are still to be asked for. */
  readonly confirmationIds: readonly string[];
}

type Row = { readonly [Field in keyof GrantedConsents]: string[] | null };

/** Consents by the thousand. */
@Injectable()
export class ImportedConsents {
  constructor(@Inject(Database) private readonly database: Database) {}

  /**
   * What `Consent.grant` does, for subscribers who are locked: consents that were never given or have expired are
   * granted, with one confirmation mail a person for those on double opt-in topics. Those that stand or wait stay
   * as they are, and so do those that the person took back: an import lifts no "no".
   */
  async grant(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topics: readonly Topic[],
    { at, proof }: ConsentOccasion,
  ): Promise<GrantedConsents> {
    if (subscriberIds.length === 0) return { subscriberIds: [], confirmationIds: [] };
    const expiresAt = new Date(at.getTime() + CONFIRMATION_VALID_MS);
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Row>`
        with granted as (
          insert into audience.consents as c (subscriber_id, topic_id, environment_id, status, granted_at,
            token_expires_at, subscribed_at)
          select p.id, t.id, ${scope.environmentId},
            case when t.double_opt_in then 'PENDING_CONFIRMATION' else 'SUBSCRIBED' end, ${at}::timestamptz,
            case when t.double_opt_in then ${expiresAt}::timestamptz end,
            case when not t.double_opt_in then ${at}::timestamptz end
          from unnest(${[...subscriberIds]}::uuid[]) p(id)
          cross join unnest(${topics.map(({ id }) => id)}::uuid[],
            ${topics.map(({ doubleOptInEnabled }) => doubleOptInEnabled)}::boolean[]) t(id, double_opt_in)
          on conflict (subscriber_id, topic_id) do update set status = excluded.status,
            granted_at = excluded.granted_at, confirmed_at = null, token_expires_at = excluded.token_expires_at,
            subscribed_at = excluded.subscribed_at,
            revoked_at = case when excluded.status = 'PENDING_CONFIRMATION' then c.revoked_at end
            where c.status = 'EXPIRED'
          -- a row that was there bears the lock of this transaction in xmax
          returning c.subscriber_id, c.topic_id, c.status, case when c.xmax <> 0 then 'EXPIRED' end as before
        ), recorded as (
          insert into audience.consent_ledger (id, environment_id, subscriber_id, topic_id, from_status, to_status,
            occurred_at, actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version)
          select platform.new_id(), ${scope.environmentId}, subscriber_id, topic_id, before, status, ${at},
            ${proof.actor}, ${proof.actorId}, ${proof.source}, ${proof.sourceUrl}, ${proof.ipAddress},
            ${proof.userAgent}, ${proof.consentText}, ${proof.formVersion}
          from granted
        ), asked as (
          insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
          select platform.new_id(), ${scope.environmentId}, subscriber_id, array_agg(topic_id), false, ${at}, ${expiresAt}
          from granted where status = 'PENDING_CONFIRMATION' group by subscriber_id
          returning id
        )
        select (select array_agg(distinct subscriber_id) from granted) as "subscriberIds",
          (select array_agg(id) from asked) as "confirmationIds"
      `.execute(db);
      const { subscriberIds: granted, confirmationIds } = rows[0]!;
      return { subscriberIds: granted ?? [], confirmationIds: confirmationIds ?? [] };
    });
  }

  /** Those of these consents that their owners took back. */
  async refused(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topics: readonly Topic[],
  ): Promise<readonly RefusedConsent[]> {
    if (subscriberIds.length === 0) return [];
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<RefusedConsent>`
        select c.subscriber_id as "subscriberId", c.topic_id as "topicId" from audience.consents c
        where c.subscriber_id = any(${[...subscriberIds]}::uuid[]) and c.topic_id = any(${topics.map(({ id }) => id)}::uuid[])
          and c.status = 'UNSUBSCRIBED'
      `.execute(db);
      return rows;
    });
  }
}
