import { Inject, Injectable } from '@nestjs/common';
import { type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import type { Consent } from './consent.js';

export interface ConsentPreference extends Pick<
  Consent,
  'status' | 'grantedAt' | 'confirmedAt' | 'revokedAt'
> {
  readonly topicKey: string;
  readonly topicName: string;
}

export interface ConsentPreferences {
  readonly subscriberEmail: string;
  /** Whether the address is suppressed, for any reason. */
  readonly globallySuppressed: boolean;
  readonly consents: readonly ConsentPreference[];
}

/** Reads the consents of a subscriber. */
@Injectable()
export class ConsentsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** All consents ever given, topics newest first. Throws NotFoundError. */
  preferences(scope: ProjectScope, address: EmailAddress): Promise<ConsentPreferences> {
    return this.database.transaction(scope, async () => {
      const rows = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers as b')
        .leftJoin('audience.suppressions as s', (join) =>
          join.onRef('s.environmentId', '=', 'b.environmentId').onRef('s.emailKey', '=', 'b.emailKey'),
        )
        .leftJoin('audience.consents as c', 'c.subscriberId', 'b.id')
        .leftJoin('audience.topics as t', (join) =>
          join.onRef('t.id', '=', 'c.topicId').on('t.deletedAt', 'is', null),
        )
        .select(['b.email', 's.emailKey as suppressedKey', 't.topicKey', 't.name as topicName'])
        .select(['c.status', 'c.grantedAt', 'c.confirmedAt', 'c.revokedAt'])
        .where('b.environmentId', '=', environmentOf(scope))
        .where('b.emailKey', '=', address.key)
        .orderBy('t.createdAt', 'desc')
        .orderBy('t.id', 'desc')
        .execute();
      const [subscriber] = rows;
      if (subscriber === undefined) throw new NotFoundError();
      return {
        subscriberEmail: subscriber.email,
        globallySuppressed: subscriber.suppressedKey !== null,
        consents: rows.flatMap(({ topicKey, topicName, status, grantedAt, confirmedAt, revokedAt }) =>
          topicKey === null || topicName === null || status === null
            ? []
            : [{ topicKey, topicName, status, grantedAt, confirmedAt, revokedAt }],
        ),
      };
    });
  }
}
