import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import type { ConsentProof, ConsentStatus } from '../consents/consent.js';
import { ConsentRepository, type SubscriberOutcome } from '../consents/consent.repository.js';
import { ConsentRecordsQuery } from './consent-records.query.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import type { SuppressedStreams } from '../suppressions/suppression.js';
import { grantFault, type TopicTexts } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';

/** The numbers of days for which all mail can be paused. */
export const PAUSE_DAYS = [7, 30, 90] as const;
export type PauseDays = (typeof PAUSE_DAYS)[number];

/** The subscriber whom a page is for. */
export interface PageReader {
  readonly subscriberId: string;
  readonly email: string;
  /** BCP 47; null where it is not known. */
  readonly locale: string | null;
}

/** The preferences of a subscriber: the topics of the project with their consents. */
export interface Preferences extends Omit<PageReader, 'subscriberId'> {
  /** IANA; null where it is not known. */
  readonly timeZone: string | null;
  /** The mail that a suppression of the address bars, which preferences cannot change; null without one. */
  readonly suppressed: SuppressedStreams | null;
  /** When the pause of all mail ends; null when mail is not paused. */
  readonly pausedUntil: Date | null;
  /** In the order of names: the active topics, and others that the reader may still get mail about. */
  readonly topics: readonly TopicPreference[];
}

export interface TopicPreference extends TopicTexts {
  readonly topicKey: string;
  /** null where consent was never given. */
  readonly status: ConsentStatus | null;
  /** The topic accepts new consents. */
  readonly isActive: boolean;
}

/** Reads and changes preferences for the reader of a mail, by the link in it. Does nothing for an erased subscriber. */
@Injectable()
export class PreferencesService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentRepository,
    private readonly records: ConsentRecordsQuery,
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
        .select(['b.email', 'b.locale', 'b.timeZone', 'b.pausedUntil', 's.streams as suppressed'])
        .where('b.environmentId', '=', scope.environmentId)
        .where('b.id', '=', subscriberId)
        .executeTakeFirst();
      if (subscriber === undefined) return null;
      const { email, locale, timeZone, pausedUntil, suppressed } = subscriber;
      return {
        email,
        locale,
        timeZone,
        suppressed,
        pausedUntil: pausedUntil !== null && pausedUntil > this.clock.now() ? pausedUntil : null,
        topics: await this.#topicsOf(scope, subscriberId),
      };
    });
  }

  /** The address and language of a subscriber; null when there is no such subscriber. */
  readerOf(scope: ProjectScope, subscriberId: string): Promise<PageReader | null> {
    return this.database.transaction(scope, async () => {
      const [[reader]] = await this.database.together(this.readingReader(scope, subscriberId));
      return reader ?? null;
    });
  }

  /** Statement that reads the address and language of a subscriber, and may lock it; none for null. */
  readingReader(
    { environmentId }: ProjectScope,
    subscriberId: string | null,
    lock?: 'lock',
  ): RawBuilder<PageReader> {
    return sql<PageReader>`${named('mail_reader')}
      select b.id as subscriber_id, b.email, b.locale from audience.subscribers b
      where b.environment_id = ${environmentId} and b.id = ${subscriberId} ${lock === undefined ? sql`` : sql`for update`}`;
  }

  /**
   * Grants consent to an active topic, confirmed by the link itself, unless it may be of a mail to an address before: then by the
   * topic's rules. Does nothing for a suppressed address. Throws NotFoundError for an unknown topic, and for a private one without
   * a pending consent.
   */
  async join(
    scope: ProjectScope,
    subscriberId: string,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileLockedById(scope, subscriberId, async () => {
      const topic = await this.topics.find(scope, topicKey);
      if (topic === undefined || grantFault(topic) !== null) throw new NotFoundError();
      const address = await this.subscribers.addressOf(scope, subscriberId);
      if (address === null || (await this.suppressions.find(scope, address.key)) !== null) return;
      const action = (await this.records.isAddressProven(scope, subscriberId)) ? 'join' : 'grant';
      const order = { subscriberIds: [subscriberId], action, topics: [topic] } as const;
      const [outcome] = await this.consents.change(scope, order, proof);
      // The consent just written goes with the transaction.
      if (topic.visibility === 'PRIVATE' && !wasGranted(outcome)) throw new NotFoundError();
    });
  }

  /** Pauses all mail for so many days from now; consents stay. */
  pause(scope: ProjectScope, subscriberId: string, days: PauseDays): Promise<void> {
    const until = new Date(this.clock.now().getTime() + days * 24 * 3_600_000);
    return this.subscribers.pause(scope, subscriberId, until);
  }

  /** Ends a pause. */
  resume(scope: ProjectScope, subscriberId: string): Promise<void> {
    return this.subscribers.pause(scope, subscriberId, null);
  }

  #topicsOf(scope: ProjectScope, subscriberId: string): Promise<TopicPreference[]> {
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

function wasGranted(outcome: SubscriberOutcome | undefined): boolean {
  if (outcome === undefined) return false;
  return outcome.hasExpired || outcome.from === 'SUBSCRIBED' || outcome.from === 'PENDING_CONFIRMATION';
}
