import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { AnnouncementType, ProjectScope } from '#kernel';
import { type Announcement, Announcer, Database, environmentOf } from '#platform';
import type { Consent, ConsentChange } from '../consents/consent.js';
import type { Subscriber } from '../subscribers/subscriber.js';
import type { Suppression } from '../suppressions/suppression.js';

interface ChangedConsent {
  readonly email: string;
  readonly topicId: string;
  readonly topicKey: string;
}

/** What the audience tells the world outside, each in the transaction in which it happens. */
@Injectable()
export class AudienceAnnouncements {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Announcer) private readonly announcer: Announcer,
  ) {}

  async subscriber(
    scope: ProjectScope,
    type: 'subscriber.created' | 'subscriber.updated',
    subscriber: Subscriber,
  ): Promise<void> {
    if (!this.announcer.hears(scope, type)) return;
    await this.announcer.announce(scope, { type, subscriberId: subscriber.id, data: { ...subscriber } });
  }

  /** The id alone: who hears it has been told of the person before, or never was. */
  async subscriberDeleted(scope: ProjectScope, subscriberId: string): Promise<void> {
    if (!this.announcer.hears(scope, 'subscriber.deleted')) return;
    await this.announcer.announce(scope, { type: 'subscriber.deleted', data: { id: subscriberId } });
  }

  /** The changes that these consents have gone through since they were loaded. That one expired is not told. */
  async consents(scope: ProjectScope, subscriberId: string, consents: readonly Consent[]): Promise<void> {
    const heard = consents.flatMap(({ topicId, changes, state }) =>
      changes.flatMap((change) => {
        const type = consentEvent(change);
        return type !== null && this.announcer.hears(scope, type) ? [{ topicId, type, change, state }] : [];
      }),
    );
    if (heard.length === 0) return;
    const named = await this.#named(
      scope,
      subscriberId,
      heard.map(({ topicId }) => topicId),
    );
    const announcements = heard.flatMap(({ topicId, type, change, state }): Announcement[] => {
      const name = named.find((candidate) => candidate.topicId === topicId);
      if (name === undefined) return [];
      const { grantedAt = null, confirmedAt = null, revokedAt = null } = state ?? {};
      const { email, topicKey } = name;
      const data = { subscriberId, email, topicKey, status: change.to, grantedAt, confirmedAt, revokedAt };
      return [{ type, subscriberId, data }];
    });
    await this.announcer.announce(scope, ...announcements);
  }

  async suppressionAdded(
    scope: ProjectScope,
    { email, reason, suppressedAt }: Suppression,
    subscriberId: string | null,
  ): Promise<void> {
    if (!this.announcer.hears(scope, 'suppression.added')) return;
    const data = { email, reason, suppressedAt };
    await this.announcer.announce(scope, { type: 'suppression.added', subscriberId, data });
  }

  async suppressionRemoved(scope: ProjectScope, email: string, subscriberId: string | null): Promise<void> {
    if (!this.announcer.hears(scope, 'suppression.removed')) return;
    await this.announcer.announce(scope, { type: 'suppression.removed', subscriberId, data: { email } });
  }

  /** By its id, in the transaction that ended it. */
  async importCompleted(scope: ProjectScope, importId: string): Promise<void> {
    await this.database.transaction(scope, ({ db }) =>
      this.announcer.announceRows(
        db,
        'import.completed',
        sql`
          select i.environment_id, null::uuid as subscriber_id, jsonb_build_object('id', i.id, 'status', i.status,
            'counts', jsonb_build_object('total', i.total, 'created', i.created, 'updated', i.updated,
              'skipped', i.skipped, 'failed', i.failed), 'failureReason', i.failure_reason) as data
          from audience.imports i where i.environment_id = ${scope.environmentId} and i.id = ${importId}
        `,
      ),
    );
  }

  #named(scope: ProjectScope, subscriberId: string, topicIds: readonly string[]): Promise<ChangedConsent[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<ChangedConsent>`
        select b.email, t.id as "topicId", t.topic_key as "topicKey"
        from audience.subscribers b join audience.topics t on t.environment_id = b.environment_id
        where b.environment_id = ${environmentOf(scope)} and b.id = ${subscriberId} and t.id = any(${[...topicIds]}::uuid[])
      `.execute(db);
      return rows;
    });
  }
}

function consentEvent({ from, to }: ConsentChange): AnnouncementType | null {
  if (to === 'EXPIRED') return null;
  if (to === 'PENDING_CONFIRMATION') return 'consent.pending';
  if (to === 'UNSUBSCRIBED') return 'consent.revoked';
  return from === 'PENDING_CONFIRMATION' ? 'consent.confirmed' : 'consent.granted';
}
