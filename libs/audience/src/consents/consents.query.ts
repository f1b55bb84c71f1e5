import { Injectable } from '@nestjs/common';
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
  /** In which language the person last agreed on a page of ours; null when that was elsewhere. */
  readonly textLocale: string | null;
  /** The version of the project's texts there; null when they were ours. */
  readonly textVersion: number | null;
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
  constructor(private readonly database: Database) {}

  /** All consents ever given, topics newest first. Throws NotFoundError. */
  preferences(scope: ProjectScope, address: EmailAddress): Promise<ConsentPreferences> {
    return this.database.transaction(scope, async () => {
      const rows = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers as b')
        .leftJoin('audience.suppressions as s', (join) =>
          join.onRef('s.environmentId', '=', 'b.environmentId').onRef('s.emailKey', '=', 'b.emailKey'),
        )
        .leftJoin('audience.consents as c', (join) =>
          join.onRef('c.environmentId', '=', 'b.environmentId').onRef('c.subscriberId', '=', 'b.id'),
        )
        .leftJoin('audience.topics as t', (join) =>
          join
            .onRef('t.environmentId', '=', 'c.environmentId')
            .onRef('t.id', '=', 'c.topicId')
            .on('t.deletedAt', 'is', null),
        )
        .leftJoinLateral(
          (of) =>
            of
              .selectFrom('audience.consent_ledger as l')
              .select(['l.textLocale', 'l.textVersion'])
              .where('l.environmentId', '=', environmentOf(scope))
              .whereRef('l.subscriberId', '=', 'b.id')
              .whereRef('l.topicId', '=', 'c.topicId')
              .where('l.toStatus', '=', 'SUBSCRIBED')
              .orderBy('l.position', 'desc')
              .limit(1)
              .as('agreed'),
          (join) => join.onTrue(),
        )
        .select(['b.email', 's.emailKey as suppressedKey', 't.topicKey', 't.name as topicName'])
        .select(['c.status', 'c.grantedAt', 'c.confirmedAt', 'c.revokedAt', 'agreed.textLocale'])
        .select('agreed.textVersion')
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
        consents: rows.flatMap(({ topicKey, topicName, status, ...row }) => {
          if (topicKey === null || topicName === null || status === null) return [];
          const { grantedAt, confirmedAt, revokedAt, textLocale, textVersion } = row;
          return [
            { topicKey, topicName, status, grantedAt, confirmedAt, revokedAt, textLocale, textVersion },
          ];
        }),
      };
    });
  }
}
