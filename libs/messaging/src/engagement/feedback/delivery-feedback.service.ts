import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { consentProof, SuppressionsService } from '#audience';
import { BOUNCE_CONSEQUENCES, type BounceClass } from '#deliverability';
import { Clock, newId, parseEmailAddress, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import type { DeliveryKind, DeliveryState } from '../../deliveries/delivery.js';
import { addToCounters, addToMinutes } from '../events/campaign-counters.query.js';
import { MailAnnouncements } from '../events/mail-announcements.service.js';
import { isMailboxGivenUp } from '../events/mailbox-streaks.query.js';

/** A mail that something came back of. */
interface AnsweredMail {
  readonly deliveryId: string;
  readonly queuedOn: string;
  readonly kind: DeliveryKind;
  readonly state: DeliveryState;
  /** The campaign, or whatever else the mail belongs to. */
  readonly sourceId: string;
  readonly subscriberId: string | null;
  readonly address: string;
  readonly sentAt: Date | null;
  readonly finishedAt: Date | null;
  readonly bouncedAt: Date | null;
}

type FeedbackType = 'UNSUBSCRIBED' | 'COMPLAINED' | 'BOUNCED';
type BounceType = 'HARD' | 'SOFT';

/** What became of a bounce; `too-early` when it is not written down yet that its mail was sent. */
export type BounceOutcome = 'taken' | 'nothing-new' | 'too-early';

/** What comes back of a mail after it was accepted: each kind counts once a mail. */
@Injectable()
export class DeliveryFeedback {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SuppressionsService) private readonly suppressions: SuppressionsService,
    @Inject(MailAnnouncements) private readonly announcements: MailAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * The mail came back. What its class says of the address follows: a hard bounce suppresses it, a mailbox that turns
   * mail away for weeks does. Only a mail that was sent is written down, and only a campaign's is counted.
   */
  bounced(scope: ProjectScope, deliveryId: string, bounceClass: BounceClass): Promise<BounceOutcome> {
    return this.database.transaction(scope, async ({ db }) => {
      const mail = await lockMail(scope, db, deliveryId);
      if (mail === null || mail.bouncedAt !== null) return 'nothing-new';
      if (mail.finishedAt === null) return 'too-early';
      if (mail.sentAt !== null) await this.#countBounce(scope, db, mail, mail.sentAt, bounceClass);
      await this.announcements.bounced(db, one(mail), bounceClass);
      if (await givesUp(scope, db, mail, bounceClass)) await this.#suppress(scope, mail, 'HARD_BOUNCE');
      return 'taken';
    });
  }

  /** Its reader called it spam: the address gets no more mail. */
  async complained(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      const mail = await lockMail(scope, db, deliveryId);
      if (mail === null) return;
      const isNew = await this.#add(scope, db, mail, 'COMPLAINED');
      if (isNew) await this.announcements.complained(db, one(mail));
      if (isNew && mail.kind === 'CAMPAIGN') {
        const now = this.clock.now();
        const change = { campaignId: mail.sourceId, environmentId: scope.environmentId, complained: 1 };
        await addToCounters(db, [{ ...change, lastEventAt: now }]);
        await addToMinutes(db, [{ ...change, at: now }]);
      }
      await this.#suppress(scope, mail, 'SPAM_COMPLAINT');
    });
  }

  /** Its reader unsubscribed through it. What that means for consents is the caller's part of the transaction. */
  async unsubscribed(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      const mail = await lockMail(scope, db, deliveryId);
      if (mail === null || !(await this.#add(scope, db, mail, 'UNSUBSCRIBED')) || mail.kind !== 'CAMPAIGN')
        return;
      const change = { campaignId: mail.sourceId, environmentId: scope.environmentId, unsubscribed: 1 };
      await addToCounters(db, [{ ...change, lastEventAt: this.clock.now() }]);
    });
  }

  async #countBounce(
    scope: ProjectScope,
    db: Sql,
    mail: AnsweredMail,
    sentAt: Date,
    bounceClass: BounceClass,
  ): Promise<void> {
    const bounceType = bounceTypeOf(bounceClass);
    const now = this.clock.now();
    await sql`
      update messaging.deliveries
      set bounced_at = ${now}, bounce_type = ${bounceType}, bounce_class = ${bounceClass}
      where id = ${mail.deliveryId} and queued_on = ${mail.queuedOn}::date
    `.execute(db);
    if (!(await this.#add(scope, db, mail, 'BOUNCED', bounceType)) || mail.kind !== 'CAMPAIGN') return;
    const of = { campaignId: mail.sourceId, environmentId: scope.environmentId };
    const isHard = bounceType === 'HARD';
    await addToCounters(db, [
      { ...of, ...(isHard ? { hardBounced: 1 } : { softBounced: 1 }), lastEventAt: now },
    ]);
    await addToMinutes(db, [
      { ...of, at: now, bounced: 1, hardBounced: isHard ? 1 : 0 },
      { ...of, at: sentAt, delivered: -1, senderBounced: bounceClass === 'sender' ? 1 : 0 },
    ]);
  }

  /**
   * False when it was there before, or the mail is neither a campaign's nor an automation's. The delivery's lock keeps
   * two of a kind apart.
   */
  async #add(
    { environmentId }: ProjectScope,
    db: Sql,
    { kind, sourceId, deliveryId, subscriberId }: AnsweredMail,
    type: FeedbackType,
    bounceType: BounceType | null = null,
  ): Promise<boolean> {
    if (kind !== 'CAMPAIGN' && kind !== 'AUTOMATION') return false;
    // An automation has no statistics of its own.
    const campaignId = kind === 'CAMPAIGN' ? sourceId : null;
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

const one = ({ deliveryId, queuedOn }: AnsweredMail) => ({ ids: [deliveryId], queuedOn });

/** The statistics tell of hard and soft bounces: hard is what suppresses at once. */
function bounceTypeOf(bounceClass: BounceClass): BounceType {
  return BOUNCE_CONSEQUENCES[bounceClass] === 'suppress' ? 'HARD' : 'SOFT';
}

async function givesUp(
  scope: ProjectScope,
  db: Sql,
  { subscriberId, finishedAt, kind }: AnsweredMail,
  bounceClass: BounceClass,
): Promise<boolean> {
  const consequence = BOUNCE_CONSEQUENCES[bounceClass];
  if (consequence !== 'suppress-after-streak') return consequence === 'suppress';
  if (kind !== 'CAMPAIGN' || subscriberId === null || finishedAt === null) return false;
  return isMailboxGivenUp(scope, db, { subscriberId, finishedAt });
}

async function lockMail(scope: ProjectScope, db: Sql, deliveryId: string): Promise<AnsweredMail | null> {
  const { rows } = await sql<AnsweredMail>`
    select d.id as "deliveryId", d.queued_on as "queuedOn", d.kind, d.state, d.source_id as "sourceId",
      d.subscriber_id as "subscriberId", d.address, d.sent_at as "sentAt", d.finished_at as "finishedAt",
      d.bounced_at as "bouncedAt"
    from messaging.deliveries d
    where d.id = ${deliveryId} and d.environment_id = ${scope.environmentId}
    for update of d
  `.execute(db);
  return rows[0] ?? null;
}
