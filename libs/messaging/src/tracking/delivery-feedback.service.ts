import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { consentProof, SuppressionsService } from '#audience';
import { Clock, newId, parseEmailAddress, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { addToCounters, addToMinutes } from './campaign-counters.query.js';

/** A mail of a campaign or an automation that something came back of. */
interface AnsweredMail {
  readonly deliveryId: string;
  readonly queuedOn: string;
  /** Null for an automation's, which has no statistics of its own. */
  readonly campaignId: string | null;
  readonly subscriberId: string | null;
  readonly address: string;
  readonly sentAt: Date | null;
}

type FeedbackType = 'UNSUBSCRIBED' | 'COMPLAINED' | 'BOUNCED';
export type BounceType = 'HARD' | 'SOFT';

/** What comes back of a mail after it was accepted: each kind counts once a mail. */
@Injectable()
export class DeliveryFeedback {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SuppressionsService) private readonly suppressions: SuppressionsService,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** The mail came back. A hard bounce suppresses the address. Nothing happens without such a mail, or again. */
  async bounced(scope: ProjectScope, deliveryId: string, bounceType: BounceType): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      const mail = await lockMail(scope, db, deliveryId);
      if (mail?.sentAt == null || !(await this.#add(scope, db, mail, 'BOUNCED', bounceType))) return;
      const now = this.clock.now();
      await sql`
        update messaging.deliveries set bounced_at = ${now}, bounce_type = ${bounceType}
        where id = ${deliveryId} and queued_on = ${mail.queuedOn}::date
      `.execute(db);
      if (bounceType === 'HARD') await this.#suppress(scope, mail, 'HARD_BOUNCE');
      const { campaignId } = mail;
      const { environmentId } = scope;
      if (campaignId === null) return;
      const counted = bounceType === 'HARD' ? { hardBounced: 1 } : { softBounced: 1 };
      await addToCounters(db, [{ campaignId, environmentId, ...counted, lastEventAt: now }]);
      await addToMinutes(db, [
        { campaignId, environmentId, at: now, bounced: 1 },
        { campaignId, environmentId, at: mail.sentAt, delivered: -1 },
      ]);
    });
  }

  /** Its reader called it spam: the address gets no more mail. */
  async complained(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      const mail = await lockMail(scope, db, deliveryId);
      if (mail === null || !(await this.#add(scope, db, mail, 'COMPLAINED'))) return;
      await this.#suppress(scope, mail, 'SPAM_COMPLAINT');
      const { campaignId } = mail;
      if (campaignId === null) return;
      const change = { campaignId, environmentId: scope.environmentId, complained: 1 };
      await addToCounters(db, [{ ...change, lastEventAt: this.clock.now() }]);
    });
  }

  /** Its reader unsubscribed through it. What that means for consents is the caller's part of the transaction. */
  async unsubscribed(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      const mail = await lockMail(scope, db, deliveryId);
      if (mail === null || !(await this.#add(scope, db, mail, 'UNSUBSCRIBED'))) return;
      const { campaignId } = mail;
      if (campaignId === null) return;
      const change = { campaignId, environmentId: scope.environmentId, unsubscribed: 1 };
      await addToCounters(db, [{ ...change, lastEventAt: this.clock.now() }]);
    });
  }

  /** False when it was there before. The delivery's lock keeps two of a kind apart. */
  async #add(
    { environmentId }: ProjectScope,
    db: Sql,
    { campaignId, deliveryId, subscriberId }: AnsweredMail,
    type: FeedbackType,
    bounceType: BounceType | null = null,
  ): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type, bounce_type)
      select ${newId()}, ${this.clock.now()}, ${environmentId}, ${campaignId}, ${deliveryId}, ${subscriberId}, ${type}, ${bounceType}
      where not exists (
        select from messaging.delivery_events e
        where ${campaignId === null ? sql`e.campaign_id is null` : sql`e.campaign_id = ${campaignId}`} and e.delivery_id = ${deliveryId} and e.type = ${type}
      )
    `.execute(db);
    return numAffectedRows === 1n;
  }

  async #suppress(
    scope: ProjectScope,
    { address, deliveryId }: AnsweredMail,
    reason: 'HARD_BOUNCE' | 'SPAM_COMPLAINT',
  ): Promise<void> {
    const parsed = parseEmailAddress(address);
    // An erased subscriber's delivery has no address any more.
    if ('fault' in parsed) return;
    const actor = reason === 'HARD_BOUNCE' ? 'BOUNCE' : 'COMPLAINT';
    await this.suppressions.suppress(scope, parsed.address, reason, consentProof(actor, deliveryId));
  }
}

async function lockMail(scope: ProjectScope, db: Sql, deliveryId: string): Promise<AnsweredMail | null> {
  const { rows } = await sql<AnsweredMail>`
    select d.id as "deliveryId", d.queued_on as "queuedOn",
      case when d.kind = 'CAMPAIGN' then d.source_id end as "campaignId", d.subscriber_id as "subscriberId",
      d.address, d.sent_at as "sentAt"
    from messaging.deliveries d
    where d.id = ${deliveryId} and d.environment_id = ${scope.environmentId} and d.kind in ('CAMPAIGN', 'AUTOMATION')
    for update of d
  `.execute(db);
  return rows[0] ?? null;
}
