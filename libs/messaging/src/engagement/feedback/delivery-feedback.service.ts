import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type BounceClass, CONSEQUENCES } from '#deliverability';
import { Clock, newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliveriesTable, MessagingTables } from '../../messaging-tables.js';
import { addToCounters, addToMinutes } from '../events/campaign-counters.query.js';
import { MailPublisher } from '../events/mail-publisher.service.js';
import { AddressConsequences, type FailedMail } from './address-consequences.service.js';

/** A mail that something came back of. */
interface AnsweredMail
  extends FailedMail, Pick<DeliveriesTable, 'queuedOn' | 'sourceId' | 'sentAt' | 'bouncedAt'> {}

type FeedbackType = 'UNSUBSCRIBED' | 'COMPLAINED' | 'BOUNCED';
type BounceType = 'HARD' | 'SOFT';

/** What became of a bounce; `too-early` when it is not recorded yet that its mail was sent. */
export type BounceOutcome = 'taken' | 'nothing-new' | 'too-early';

/** What comes back of a mail after it was accepted: each kind counts once a mail. */
@Injectable()
export class DeliveryFeedback {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AddressConsequences) private readonly addresses: AddressConsequences,
    @Inject(MailPublisher) private readonly publisher: MailPublisher,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * The mail came back, and what its class means follows. Only that of a mail that was sent is recorded, and only a
   * campaign's is counted.
   */
  bounced(scope: ProjectScope, deliveryId: string, bounceClass: BounceClass): Promise<BounceOutcome> {
    return this.database.transaction(scope, async () => {
      const mail = await this.#lockMail(scope, deliveryId);
      if (mail === null || mail.bouncedAt !== null) return 'nothing-new';
      if (mail.finishedAt === null) return 'too-early';
      if (mail.sentAt !== null) await this.#countBounce(scope, mail, mail.sentAt, bounceClass);
      await this.publisher.bounced(one(mail), bounceClass);
      await this.addresses.follow(scope, mail, bounceClass);
      return 'taken';
    });
  }

  /** Its reader called it spam: the address gets no more mail. */
  async complained(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      const mail = await this.#lockMail(scope, deliveryId);
      if (mail === null) return;
      const isNew = await this.#add(scope, mail, 'COMPLAINED');
      if (isNew) await this.publisher.complained(one(mail));
      if (isNew && mail.kind === 'CAMPAIGN') {
        const now = this.clock.now();
        const change = { campaignId: mail.sourceId, environmentId: scope.environmentId, complained: 1 };
        await addToCounters(this.database, [{ ...change, lastEventAt: now }]);
        await addToMinutes(this.database, [{ ...change, at: now }]);
      }
      await this.addresses.follow(scope, mail, 'complaint');
    });
  }

  /** Its reader unsubscribed through it. What that means for consents is the caller's part of the transaction. */
  async unsubscribed(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      const mail = await this.#lockMail(scope, deliveryId);
      if (mail === null || !(await this.#add(scope, mail, 'UNSUBSCRIBED')) || mail.kind !== 'CAMPAIGN')
        return;
      const change = { campaignId: mail.sourceId, environmentId: scope.environmentId, unsubscribed: 1 };
      await addToCounters(this.database, [{ ...change, lastEventAt: this.clock.now() }]);
    });
  }

  async #countBounce(
    scope: ProjectScope,
    mail: AnsweredMail,
    sentAt: Date,
    bounceClass: BounceClass,
  ): Promise<void> {
    const { address, stops } = CONSEQUENCES[bounceClass];
    // The statistics tell of hard and soft bounces: hard is what suppresses at once.
    const isHard = address === 'suppress';
    const bounceType = isHard ? 'HARD' : 'SOFT';
    const now = this.clock.now();
    await this.database
      .tables<MessagingTables>()
      .updateTable('messaging.deliveries')
      .set({ bouncedAt: now, bounceType, bounceClass })
      .where('id', '=', mail.deliveryId)
      .where('queuedOn', '=', mail.queuedOn)
      .execute();
    if (!(await this.#add(scope, mail, 'BOUNCED', bounceType)) || mail.kind !== 'CAMPAIGN') return;
    const of = { campaignId: mail.sourceId, environmentId: scope.environmentId };
    await addToCounters(this.database, [
      { ...of, ...(isHard ? { hardBounced: 1 } : { softBounced: 1 }), lastEventAt: now },
    ]);
    await addToMinutes(this.database, [
      { ...of, at: now, bounced: 1, hardBounced: isHard ? 1 : 0 },
      { ...of, at: sentAt, delivered: -1, senderBounced: stops === 'domain' ? 1 : 0 },
    ]);
  }

  /**
   * False when it was there before, or the mail is neither a campaign's nor an automation's. The delivery's lock keeps
   * two of a kind apart.
   */
  async #add(
    { environmentId }: ProjectScope,
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
    `.execute(this.database.tables());
    return numAffectedRows === 1n;
  }

  async #lockMail(scope: ProjectScope, deliveryId: string): Promise<AnsweredMail | null> {
    const mail = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.deliveries')
      .select(['id as deliveryId', 'queuedOn', 'kind', 'sourceId', 'subscriberId', 'address'])
      .select(['sentAt', 'finishedAt', 'bouncedAt'])
      .where('id', '=', deliveryId)
      .where('environmentId', '=', scope.environmentId)
      .forUpdate()
      .executeTakeFirst();
    return mail ?? null;
  }
}

const one = ({ deliveryId, queuedOn }: AnsweredMail) => ({ ids: [deliveryId], queuedOn });
