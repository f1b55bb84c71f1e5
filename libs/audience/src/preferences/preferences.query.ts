import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import type { PageReader, Preferences, TopicPreference } from './preferences.js';

/** Reads the preferences of a subscriber. */
@Injectable()
export class PreferencesQuery {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** null when there is no such subscriber. */
  of(scope: ProjectScope, subscriberId: string): Promise<Preferences | null> {
    return this.database.transaction(scope, async () => {
      const subscriber = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers as b')
        .leftJoin('audience.suppressions as s', (join) =>
          join.onRef('s.environmentId', '=', 'b.environmentId').onRef('s.emailKey', '=', 'b.emailKey'),
        )
        .select(['b.email', 'b.locale', 'b.timeZone', 'b.pausedUntil', 's.emailKey as suppressedKey'])
        .where('b.environmentId', '=', scope.environmentId)
        .where('b.id', '=', subscriberId)
        .executeTakeFirst();
      if (subscriber === undefined) return null;
      const { email, locale, timeZone, pausedUntil, suppressedKey } = subscriber;
      return {
        email,
        locale,
        timeZone,
        suppressed: suppressedKey !== null,
        pausedUntil: pausedUntil !== null && pausedUntil > this.clock.now() ? pausedUntil : null,
        topics: await this.#topics(scope, subscriberId),
      };
    });
  }

  /** The address and language of a subscriber; null when there is no such subscriber. */
  readerOf(scope: ProjectScope, subscriberId: string): Promise<PageReader | null> {
    return this.database.transaction(scope, async () => {
      const reader = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers')
        .select(['id as subscriberId', 'email', 'locale'])
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', subscriberId)
        .executeTakeFirst();
      return reader ?? null;
    });
  }

  #topics(scope: ProjectScope, subscriberId: string): Promise<TopicPreference[]> {
    return this.database
      .tables<AudienceTables>()
      .selectFrom('audience.topics as t')
      .leftJoin('audience.consents as c', (join) =>
        join
          .onRef('c.environmentId', '=', 't.environmentId')
          .onRef('c.topicId', '=', 't.id')
          .on('c.subscriberId', '=', subscriberId),
      )
      .select(['t.topicKey', 't.name', 't.description', 't.translations', 'c.status'])
      .select((eb) => eb('t.status', '=', 'ACTIVE').$castTo<boolean>().as('isActive'))
      .where('t.environmentId', '=', scope.environmentId)
      .where('t.deletedAt', 'is', null)
      .where((eb) =>
        eb.or([
          eb('c.status', 'in', ['SUBSCRIBED', 'PENDING_CONFIRMATION']),
          eb.and({ 't.status': 'ACTIVE', 't.visibility': 'PUBLIC' }),
        ]),
      )
      .orderBy((eb) => eb.fn('lower', ['t.name']))
      .orderBy('t.id')
      .execute();
  }
}
