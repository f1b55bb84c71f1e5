import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import type { ConsentStatus } from './consent.js';

export interface ConsentPreference {
  readonly topicKey: string;
  readonly topicName: string;
  readonly status: ConsentStatus;
  readonly grantedAt: Date | null;
  readonly confirmedAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface ConsentPreferences {
  readonly subscriberEmail: string;
  /** On the suppression list, for whatever reason. */
  readonly globallySuppressed: boolean;
  readonly consents: readonly ConsentPreference[];
}

/** Reads what a subscriber consented to. */
@Injectable()
export class ConsentsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** All consents ever given, topics newest first. Throws NotFoundError. */
  preferences(scope: ProjectScope, address: EmailAddress): Promise<ConsentPreferences> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Row>`
        select b.email, s.email_key is not null as suppressed, t.topic_key as "topicKey", t.name as "topicName",
          c.status, c.granted_at as "grantedAt", c.confirmed_at as "confirmedAt", c.revoked_at as "revokedAt"
        from audience.subscribers b
        left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
        left join (
          audience.consents c join audience.topics t on t.id = c.topic_id and t.deleted_at is null
        ) on c.subscriber_id = b.id
        where b.environment_id = ${environmentOf(scope)} and b.email_key = ${address.key}
        order by t.created_at desc, t.id desc
      `.execute(db);
      const [subscriber] = rows;
      if (subscriber === undefined) throw new NotFoundError();
      return {
        subscriberEmail: subscriber.email,
        globallySuppressed: subscriber.suppressed,
        consents: rows.map((row) => preferenceOf(row)).filter((preference) => preference !== null),
      };
    });
  }
}

/** A subscriber without consents is one row whose consent is all null. */
type Row = { readonly email: string; readonly suppressed: boolean } & (
  | ConsentPreference
  | { readonly [Field in keyof ConsentPreference]: null }
);

function preferenceOf(row: Row): ConsentPreference | null {
  if (row.topicKey === null) return null;
  const { topicKey, topicName, status, grantedAt, confirmedAt, revokedAt } = row;
  return { topicKey, topicName, status, grantedAt, confirmedAt, revokedAt };
}
