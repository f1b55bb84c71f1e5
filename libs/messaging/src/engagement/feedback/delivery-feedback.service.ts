import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type BounceClass, CONSEQUENCES } from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { Database, environmentOf, prepared } from '#platform';
import { addToCounters, addToMinutes } from '../events/campaign-counters.query.js';
import { MailPublisher } from '../events/mail-publisher.service.js';
import { AddressConsequences } from './address-consequences.service.js';
import {
  addFeedbackEvents,
  type AnsweredMail,
  type FeedbackType,
  lockEndedMails,
  lockMail,
} from './answered-mails.query.js';

type BounceType = 'HARD' | 'SOFT';

/** A mail that came back, and why. */
export interface BouncedDelivery {
  readonly deliveryId: string;
  readonly bounceClass: BounceClass;
}

type BouncedMail = AnsweredMail & BouncedDelivery;

/** What became of bounces: ids of deliveries. Of those that are `early` it is not recorded yet that they were sent. */
export interface BounceOutcomes {
  readonly taken: readonly string[];
  readonly early: readonly string[];
}

/** The same of one. */
export type BounceOutcome = 'taken' | 'nothing-new' | 'too-early';

/** What comes back of a mail after it was accepted: each kind counts once a mail. */
@Injectable()
export class DeliveryFeedback {
  constructor(
    private readonly database: Database,
    private readonly addresses: AddressConsequences,
    private readonly publisher: MailPublisher,
    private readonly clock: Clock,
  ) {}

  /** A mail came back, and what its class means follows. */
  async bounced(scope: ProjectScope, deliveryId: string, bounceClass: BounceClass): Promise<BounceOutcome> {
    const { taken, early } = await this.allBounced(scope, [{ deliveryId, bounceClass }]);
    if (taken.length > 0) return 'taken';
    return early.length > 0 ? 'too-early' : 'nothing-new';
  }

  /** The same for many: the first of each counts. Only that of a mail that was sent is recorded, and only a campaign's is counted. */
  allBounced(scope: ProjectScope, bounces: readonly BouncedDelivery[]): Promise<BounceOutcomes> {
    const classes = new Map(bounces.toReversed().map((bounce) => [bounce.deliveryId, bounce.bounceClass]));
    return this.database.transaction(scope, async () => {
      const { ended, open: early } = await lockEndedMails(this.database, scope, [...classes.keys()]);
      const mails = ended.flatMap((mail): BouncedMail[] => {
        const bounceClass = classes.get(mail.deliveryId);
        return bounceClass === undefined || mail.bouncedAt !== null ? [] : [{ ...mail, bounceClass }];
      });
      await this.#countBounces(
        scope,
        mails.filter(({ sentAt }) => sentAt !== null),
      );
      await this.#publishBounces(scope, mails);
      // Addresses are locked in one order, so that jobs cannot lock each other out.
      for (const mail of mails.toSorted((a, b) => (a.address < b.address ? -1 : 1)))
        await this.addresses.follow(scope, mail, mail.bounceClass);
      return { taken: mails.map(({ deliveryId }) => deliveryId), early };
    });
  }

  /** Its reader called it spam: the address gets no more mail. */
  async complained(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      const mail = await lockMail(this.database, scope, deliveryId);
      if (mail === null) return;
      const isNew = await this.#isNew(scope, mail, 'COMPLAINED');
      if (isNew) await this.publisher.complained(together(scope, [mail]));
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
      const mail = await lockMail(this.database, scope, deliveryId);
      const isNew = mail !== null && (await this.#isNew(scope, mail, 'UNSUBSCRIBED'));
      if (!isNew || mail.kind !== 'CAMPAIGN') return;
      const change = { campaignId: mail.sourceId, environmentId: scope.environmentId, unsubscribed: 1 };
      await addToCounters(this.database, [{ ...change, lastEventAt: this.clock.now() }]);
    });
  }

  async #isNew(scope: ProjectScope, mail: AnsweredMail, type: FeedbackType): Promise<boolean> {
    const event = { type, at: this.clock.now(), of: [mail] };
    return (await addFeedbackEvents(this.database, scope, event)).size > 0;
  }

  async #publishBounces(scope: ProjectScope, mails: readonly BouncedMail[]): Promise<void> {
    const alike = Map.groupBy(mails, ({ queuedOn, bounceClass }) => `${queuedOn} ${bounceClass}`);
    for (const group of alike.values())
      await this.publisher.bounced(together(scope, group), group[0]!.bounceClass);
  }

  async #countBounces(scope: ProjectScope, mails: readonly BouncedMail[]): Promise<void> {
    if (mails.length === 0) return;
    const now = this.clock.now();
    await sql`${prepared}
      update messaging.deliveries d set bounced_at = ${now}, bounce_type = b."bounceType", bounce_class = b."bounceClass"
      from jsonb_to_recordset(${JSON.stringify(mails.map((mail) => ({ ...keyOf(mail), ...typeOf(mail) })))}::jsonb)
        as b("deliveryId" uuid, "queuedOn" date, "bounceType" text, "bounceClass" text)
      where d.id = b."deliveryId" and d.queued_on = b."queuedOn" and d.environment_id = ${environmentOf(scope)}
    `.execute(this.database.tables());
    const answers = mails.map((mail) => ({ ...mail, ...typeOf(mail) }));
    const added = await addFeedbackEvents(this.database, scope, { type: 'BOUNCED', at: now, of: answers });
    const counted = mails.filter(({ deliveryId, kind }) => kind === 'CAMPAIGN' && added.has(deliveryId));
    const changes = counted.map((mail) => {
      const { address, stops } = CONSEQUENCES[mail.bounceClass];
      const isHard = address === 'suppress';
      const of = { campaignId: mail.sourceId, environmentId: scope.environmentId };
      return {
        counter: { ...of, ...(isHard ? { hardBounced: 1 } : { softBounced: 1 }), lastEventAt: now },
        minutes: [
          { ...of, at: now, bounced: 1, hardBounced: isHard ? 1 : 0 },
          { ...of, at: mail.sentAt ?? now, delivered: -1, senderBounced: stops === 'domain' ? 1 : 0 },
        ],
      };
    });
    await addToCounters(
      this.database,
      changes.map(({ counter }) => counter),
    );
    await addToMinutes(
      this.database,
      changes.flatMap(({ minutes }) => minutes),
    );
  }
}

/** The statistics tell of hard and soft bounces: hard is what suppresses at once. */
function typeOf({ bounceClass }: Pick<BouncedDelivery, 'bounceClass'>) {
  const bounceType: BounceType = CONSEQUENCES[bounceClass].address === 'suppress' ? 'HARD' : 'SOFT';
  return { bounceClass, bounceType };
}

const keyOf = ({ deliveryId, queuedOn }: AnsweredMail) => ({ deliveryId, queuedOn });

const together = ({ environmentId }: ProjectScope, mails: readonly AnsweredMail[]) => ({
  environmentId,
  ids: mails.map(({ deliveryId }) => deliveryId),
  queuedOn: mails[0]!.queuedOn,
});
