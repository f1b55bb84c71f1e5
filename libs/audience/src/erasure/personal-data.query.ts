import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database, environmentOf, type Sql } from '#platform';
import { SuppressionsQuery, type SuppressionView } from '../suppressions/suppressions.query.js';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** All that the audience holds about the owner of an address (GDPR Art. 15), as rows to be printed. */
export interface AudiencePersonalData {
  /** null when there is no such subscriber. */
  readonly subscriber: Readonly<Record<string, unknown>> | null;
  readonly suppression: SuppressionView;
  readonly consents: Rows;
  /** Every change of a consent, oldest first. */
  readonly consentRecord: Rows;
  readonly confirmations: Rows;
  readonly events: Rows;
  readonly segments: Rows;
  /** What imports found wrong with rows of this address. */
  readonly importErrors: Rows;
}

/** Reads what is held about one person. */
@Injectable()
export class PersonalDataQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SuppressionsQuery) private readonly suppressions: SuppressionsQuery,
  ) {}

  /** Also of an address that is no subscriber's: it may be suppressed, or stand in an import's errors. */
  of(scope: ProjectScope, address: EmailAddress): Promise<AudiencePersonalData> {
    return this.database.transaction(scope, async ({ db }) => {
      const suppression = await this.suppressions.of(scope, address);
      const [subscriber = null] = await rowsOf(db, subscriberOf(scope, address));
      const importErrors = await rowsOf(db, importErrorsOf(scope, address));
      const about = { suppression, importErrors, subscriber };
      if (subscriber === null)
        return { ...about, consents: [], consentRecord: [], confirmations: [], events: [], segments: [] };
      const id = String(subscriber['id']);
      return {
        ...about,
        consents: await rowsOf(db, consentsOf(id)),
        consentRecord: await rowsOf(db, consentRecordOf(scope, id)),
        confirmations: await rowsOf(db, confirmationsOf(id)),
        events: await rowsOf(db, eventsOf(id)),
        segments: await rowsOf(db, segmentsOf(id)),
      };
    });
  }
}

async function rowsOf(db: Sql, query: RawBuilder<Readonly<Record<string, unknown>>>): Promise<Rows> {
  return (await query.execute(db)).rows;
}

const subscriberOf = ({ environmentId }: ProjectScope, { key }: EmailAddress) => sql<Record<string, unknown>>`
  select id, subscriber_key as "subscriberKey", email, first_name as "firstName", last_name as "lastName", phone, status,
    source, custom_fields as "customFields", paused_until as "pausedUntil", created_at as "createdAt", updated_at as "updatedAt"
  from audience.subscribers where environment_id = ${environmentOf({ environmentId })} and email_key = ${key}
`;

const consentsOf = (id: string) => sql<Record<string, unknown>>`
  select t.topic_key as "topicKey", t.name as "topicName", c.status, c.granted_at as "grantedAt",
    c.confirmed_at as "confirmedAt", c.revoked_at as "revokedAt", c.token_expires_at as "tokenExpiresAt"
  from audience.consents c join audience.topics t on t.id = c.topic_id
  where c.subscriber_id = ${id} order by t.created_at, t.id
`;

const consentRecordOf = ({ environmentId }: ProjectScope, id: string) => sql<Record<string, unknown>>`
  select l.occurred_at as "occurredAt", t.topic_key as "topicKey", t.name as "topicName", l.from_status as "from",
    l.to_status as "to", l.actor, l.actor_id as "actorId", l.source, l.source_url as "sourceUrl", l.ip_address as "ipAddress",
    l.user_agent as "userAgent", l.consent_text as "consentText", l.form_version as "formVersion", l.message_id as "messageId"
  from audience.consent_ledger l join audience.topics t on t.id = l.topic_id
  where l.environment_id = ${environmentOf({ environmentId })} and l.subscriber_id = ${id} order by l.position
`;

const confirmationsOf = (id: string) => sql<Record<string, unknown>>`
  select f.id, f.created_at as "requestedAt", f.expires_at as "expiresAt", f.is_repeat as "isRepeat",
    array(select t.topic_key from audience.topics t where t.id = any(f.topic_ids) order by t.created_at, t.id) as "topicKeys"
  from audience.confirmations f where f.subscriber_id = ${id} order by f.created_at, f.id
`;

const eventsOf = (id: string) => sql<Record<string, unknown>>`
  select id, name, properties, occurred_at as "occurredAt", created_at as "createdAt"
  from audience.subscriber_events where subscriber_id = ${id} order by occurred_at, id
`;

const segmentsOf = (id: string) => sql<Record<string, unknown>>`
  select s.segment_key as "segmentKey", s.name, s.type, m.added_at as "addedAt"
  from audience.segment_members m join audience.segments s on s.id = m.segment_id
  where m.subscriber_id = ${id} order by m.added_at, s.id
`;

const importErrorsOf = ({ environmentId }: ProjectScope, { key }: EmailAddress) => sql<
  Record<string, unknown>
>`
  select e.import_id as "importId", i.created_at as "importedAt", e.row_number as "row", e.email, e.errors
  from audience.import_errors e join audience.imports i on i.id = e.import_id
  where e.environment_id = ${environmentOf({ environmentId })} and e.email_key = ${key} order by i.created_at, e.row_number
`;
