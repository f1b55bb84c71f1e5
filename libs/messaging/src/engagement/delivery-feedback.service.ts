import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type BounceClass, type BounceRecorder, CONSEQUENCES } from '#deliverability';
import { Clock, newId, type ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import { isQueuedOn } from '../deliveries/delivery-queue.query.js';
import type { DeliveriesTable, MessagingTables } from '../messaging-tables.js';
import { AddressConsequencesService, type FailedMail } from './address-consequences.service.js';
import type { MailOfLink } from '../deliveries/linked-mails.service.js';
import { addNodeFeedback, countingNodes } from './automation-counters.repository.js';
import {
  addFeedback,
  countingUnsubscription,
  FEEDBACK_WRITER,
  unsubscribingInHour,
} from './campaign-counters.repository.js';
import { MailPublisherService } from './mail-publisher.service.js';
import { type MessageFeedback, MessageOutcomesService } from './message-outcomes.service.js';

/** A mail that something came back of. */
interface AnsweredMail
  extends FailedMail, Pick<DeliveriesTable, 'queuedOn' | 'sourceId' | 'sentAt' | 'bouncedAt' | 'relayKey'> {}

/** A mail of a campaign or an automation. */
type UnsubscribedMail = Pick<
  MailOfLink,
  'id' | 'queuedOn' | 'campaignId' | 'versionId' | 'place' | 'subscriberId'
>;

/** A mail that a provider names by this id. */
export interface RelayedDelivery extends Pick<DeliveriesTable, 'address'> {
  readonly deliveryId: string;
  /** As the provider names it: without the brackets. */
  readonly messageId: string;
}

/** Our Message-ID: the delivery's id at the signing domain. */
const OWN_MESSAGE_ID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})@/i;

/** A mail that came back, and why. */
export interface BouncedDelivery {
  readonly deliveryId: string;
  readonly bounceClass: BounceClass;
}

type BouncedMail = AnsweredMail & BouncedDelivery;

/** The outcome of bounces, as ids of deliveries; for `early` ones it is not recorded yet that they were sent. */
export interface BounceOutcomes {
  readonly taken: readonly string[];
  readonly early: readonly string[];
}

/** The outcome of one. */
export type BounceOutcome = 'taken' | 'nothing-new' | 'too-early';

/** Answers to mail after it was accepted, bounces, complaints and unsubscriptions: each kind counts once a mail. */
@Injectable()
export class DeliveryFeedbackService implements BounceRecorder {
  constructor(
    private readonly database: Database,
    private readonly addresses: AddressConsequencesService,
    private readonly publisher: MailPublisherService,
    private readonly messages: MessageOutcomesService,
    private readonly clock: Clock,
  ) {}

  /** The mails that relays or we ourselves named so, the newest first: an id of some relays comes again. */
  async named(
    { environmentId, ...scope }: ProjectScope,
    messageIds: readonly string[],
  ): Promise<RelayedDelivery[]> {
    const ownIds = messageIds.flatMap((messageId) => OWN_MESSAGE_ID.exec(messageId)?.[1] ?? []);
    const isNamed = new Set(messageIds);
    return this.database.transaction({ environmentId, ...scope }, async () => {
      const mails = this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.deliveries')
        .select(['id as deliveryId', 'address'])
        .where('environmentId', '=', environmentId)
        .orderBy('id', 'desc');
      const theirs = await mails
        .select((eb) => eb.ref('providerMessageId').$notNull().as('messageId'))
        .where((eb) => eb('providerMessageId', '=', eb.fn.any(eb.val([...messageIds]))))
        .execute();
      if (ownIds.length === 0) return theirs;
      const ours = await mails
        .select('messageId')
        .where((eb) => eb('id', '=', eb.fn.any(eb.val(ownIds))))
        .execute();
      const claimed = ours.map((mail) => ({ ...mail, messageId: mail.messageId.slice(1, -1) }));
      return [...theirs, ...claimed.filter(({ messageId }) => isNamed.has(messageId))];
    });
  }

  /** A mail came back; the consequences of its class follow. */
  async bounced(scope: ProjectScope, deliveryId: string, bounceClass: BounceClass): Promise<BounceOutcome> {
    const { taken, early } = await this.allBounced(scope, [{ deliveryId, bounceClass }]);
    if (taken.length > 0) return 'taken';
    return early.length > 0 ? 'too-early' : 'nothing-new';
  }

  /** The same for many: the first of each counts. Only bounces of mails that were sent are recorded and counted. */
  allBounced(scope: ProjectScope, bounces: readonly BouncedDelivery[]): Promise<BounceOutcomes> {
    const classes = new Map(bounces.toReversed().map((bounce) => [bounce.deliveryId, bounce.bounceClass]));
    return this.database.transaction(scope, async () => {
      const { ended, open: early } = await lockEndedMails(this.database, scope, [...classes.keys()]);
      const mails = ended.flatMap((mail): BouncedMail[] => {
        const bounceClass = classes.get(mail.deliveryId);
        return bounceClass === undefined || mail.bouncedAt !== null ? [] : [{ ...mail, bounceClass }];
      });
      const now = this.clock.now();
      const counted = await this.#noteBounces(scope, mails, now);
      await this.#publishBounces(scope, mails);
      await this.#noteMessages(scope, mails, 'BOUNCED');
      await this.addresses.follow(
        scope,
        mails.map((mail) => ({ ...mail, failure: mail.bounceClass })),
      );
      await this.#countBounces(scope, counted, now);
      return { taken: mails.map(({ deliveryId }) => deliveryId), early };
    });
  }

  /** True where an endpoint listens, or messages, which show it, may be under way. */
  async hearsDelivered(scope: ProjectScope): Promise<boolean> {
    return (
      this.publisher.hasListeners(scope, 'email.delivered') ||
      this.messages.areUnderWay(scope, this.clock.now())
    );
  }

  /** A provider says that they arrived: it is published, once a mail, and messages show it. */
  async delivered(scope: ProjectScope, deliveryIds: readonly string[]): Promise<void> {
    await this.database.transaction(scope, async () => {
      const mails = await mailsOf(this.database, scope, deliveryIds).execute();
      for (const ofDay of Map.groupBy(mails, ({ queuedOn }) => queuedOn).values())
        await this.publisher.delivered(together(scope, ofDay));
      await this.#noteMessages(scope, mails, 'DELIVERED');
    });
  }

  /** Its reader called it spam: the address gets no more mail. */
  async complained(scope: ProjectScope, deliveryId: string): Promise<void> {
    await this.database.transaction(scope, async () => {
      const mail = await lockMail(this.database, scope, deliveryId);
      if (mail === null) return;
      await this.#noteMessages(scope, [mail], 'COMPLAINED');
      const now = this.clock.now();
      const isNew = await this.#addComplaint(scope, mail, now);
      if (isNew) await this.publisher.complained(together(scope, [mail]));
      await this.addresses.follow(scope, [{ ...mail, failure: 'complaint' }]);
      if (!isNew) return;
      const { environmentId } = scope;
      const { sourceId } = mail;
      const hours = [{ ...hourOf(mail), environmentId, at: now, complained: 1 }];
      if (mail.kind === 'AUTOMATION') {
        await addNodeFeedback(this.database, environmentId, [{ sourceId, at: now, complained: 1 }]);
        return addFeedback(this.database, { hours });
      }
      const change = { campaignId: sourceId, environmentId, complained: 1 };
      await addFeedback(this.database, {
        counters: [{ ...change, lastEventAt: now }],
        minutes: [{ ...change, at: now }],
        hours,
      });
    });
  }

  /** Publishes that its reader unsubscribes through a mail, which is locked, unless that is noted already. */
  async tellUnsubscription({ environmentId }: ProjectScope, mail: UnsubscribedMail): Promise<void> {
    if (!this.publisher.hasListeners({ environmentId }, 'email.unsubscribed')) return;
    const { id: deliveryId, queuedOn, campaignId } = mail;
    const { rows } = await sql<{ isNew: boolean }>`
      select ${isUnanswered({ environmentId, type: 'UNSUBSCRIBED', mail: { deliveryId, queuedOn, campaignId } })} as is_new
    `.execute(this.database.tables());
    if (rows[0]?.isNew === true)
      await this.publisher.unsubscribed({ environmentId, ids: [deliveryId], queuedOn });
  }

  /**
   * Statement that notes that its reader unsubscribed through a mail, which is locked: each once. The consents are the caller's
   * part of the transaction.
   */
  notingUnsubscription(
    { environmentId }: ProjectScope,
    { id, queuedOn, campaignId, versionId, place, subscriberId }: UnsubscribedMail,
  ): RawBuilder<unknown> {
    const at = this.clock.now();
    const mail = { deliveryId: id, queuedOn, campaignId, subscriberId };
    const noting = addingAnswer({ environmentId, type: 'UNSUBSCRIBED', at, mail });
    const unsubscription = { environmentId, at, mail: { id, queuedOn } };
    if (campaignId !== null) return countingUnsubscription(noting, unsubscription);
    const noted = sql`select ${versionId}::bigint as version_id, ${place}::smallint as place, ${at}::timestamptz as at,
      ${environmentId}::bigint as environment_id, 1 as unsubscribed from noted`;
    return sql`${named('note_unsubscribed')}
      with noted as (${noting}), counted as (
        ${countingNodes(['unsubscribed'], noted, FEEDBACK_WRITER)} returning null::uuid as campaign_id
      ), ${unsubscribingInHour(sql`(select distinct campaign_id from counted)`, unsubscription)}`;
  }

  /** False where there is one already, and for mail that has no events. */
  async #addComplaint({ environmentId }: ProjectScope, mail: AnsweredMail, at: Date): Promise<boolean> {
    if (mail.kind !== 'CAMPAIGN' && mail.kind !== 'AUTOMATION') return false;
    const campaignId = mail.kind === 'CAMPAIGN' ? mail.sourceId : null;
    const answer = {
      environmentId,
      type: 'COMPLAINED',
      at,
      mail: { ...mail, campaignId },
    } as const;
    const [added] = await this.database.together(sql`${named('note_feedback')} ${addingAnswer(answer)}`);
    return added.length === 1;
  }

  async #noteMessages(
    scope: ProjectScope,
    mails: readonly AnsweredMail[],
    status: MessageFeedback,
  ): Promise<void> {
    const ids = mails.flatMap(({ kind, deliveryId }) => (kind === 'MESSAGE' ? deliveryId : []));
    if (ids.length > 0) await this.messages.heard(scope, ids, status);
  }

  async #publishBounces(scope: ProjectScope, mails: readonly BouncedMail[]): Promise<void> {
    const alike = Map.groupBy(mails, ({ queuedOn, bounceClass }) => `${queuedOn} ${bounceClass}`);
    for (const group of alike.values())
      await this.publisher.bounced(together(scope, group), group[0]!.bounceClass);
  }

  /** Marks the mails that were sent, with their events; returns those that are counted. */
  async #noteBounces(
    scope: ProjectScope,
    mails: readonly BouncedMail[],
    now: Date,
  ): Promise<readonly BouncedMail[]> {
    const sent = mails.filter(({ sentAt }) => sentAt !== null);
    for (const [queuedOn, ofDay] of Map.groupBy(sent, (mail) => mail.queuedOn)) {
      const bounces = ofDay.map(({ deliveryId, bounceClass }) => ({
        deliveryId,
        bounceClass,
        eventId: newId(),
        bounceType: isHard(bounceClass) ? 'HARD' : 'SOFT',
      }));
      // The mark is the delivery's own, and once only: no event of another bounce needs to be looked for.
      await sql`${named('note_bounces')}
        with told as materialized (
          select * from jsonb_to_recordset(${JSON.stringify(bounces)}::jsonb)
            as b("deliveryId" uuid, "bounceClass" text, "bounceType" text, "eventId" uuid)
        ), noted as (
          update messaging.deliveries d set bounced_at = ${now}, bounce_type = b."bounceType", bounce_class = b."bounceClass"
          from told b where d.id = b."deliveryId" and d.environment_id = ${scope.environmentId} and ${isQueuedOn(queuedOn)}
          returning d.id, d.kind, d.source_id, d.subscriber_id, d.bounce_type, b."eventId"
        )
        insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type,
          bounce_type)
        select n."eventId", ${now}, ${scope.environmentId}, case when n.kind = 'CAMPAIGN' then n.source_id end, n.id, n.subscriber_id,
          'BOUNCED', n.bounce_type
        from noted n where n.kind in ('CAMPAIGN', 'AUTOMATION')
        returning id
      `.execute(this.database.tables());
    }
    return sent;
  }

  async #countBounces(
    { environmentId }: ProjectScope,
    mails: readonly BouncedMail[],
    now: Date,
  ): Promise<void> {
    const { CAMPAIGN: ofCampaigns = [], AUTOMATION: ofNodes = [] } = Object.groupBy(
      mails,
      ({ kind }) => kind,
    );
    const changes = ofCampaigns.map((mail) => {
      const hard = isHard(mail.bounceClass) ? 1 : 0;
      const of = { campaignId: mail.sourceId, environmentId };
      const senderBounced = CONSEQUENCES[mail.bounceClass].stops === 'domain' ? 1 : 0;
      return {
        counter: { ...of, hardBounced: hard, softBounced: 1 - hard, lastEventAt: now },
        minutes: [
          { ...of, at: now, bounced: 1, hardBounced: hard },
          { ...of, at: mail.sentAt ?? now, delivered: -1, senderBounced },
        ],
      };
    });
    const nodes = ofNodes.flatMap(({ sourceId, sentAt, bounceClass }) => {
      const hard = isHard(bounceClass) ? 1 : 0;
      return [
        { sourceId, at: now, hardBounced: hard, softBounced: 1 - hard },
        { sourceId, at: sentAt ?? now, delivered: -1 },
      ];
    });
    await addNodeFeedback(this.database, environmentId, nodes);
    const hours = [...ofCampaigns, ...ofNodes].flatMap((mail) => {
      const hard = isHard(mail.bounceClass) ? 1 : 0;
      const of = { ...hourOf(mail), environmentId };
      return [
        { ...of, at: now, hardBounced: hard, softBounced: 1 - hard },
        { ...of, at: mail.sentAt ?? now, delivered: -1 },
      ];
    });
    await addFeedback(this.database, {
      counters: changes.map(({ counter }) => counter),
      minutes: changes.flatMap(({ minutes }) => minutes),
      hours,
    });
  }
}

/** The statistics tell of hard and soft bounces: hard is what suppresses at once. */
const isHard = (bounceClass: BounceClass): boolean => CONSEQUENCES[bounceClass].address === 'suppress';

/** The facts of a mail that its hour is told by. */
const hourOf = ({ kind, sourceId, relayKey, addressKey }: AnsweredMail) => ({
  campaignId: kind === 'CAMPAIGN' ? sourceId : null,
  relayKey,
  addressKey,
});

const together = ({ environmentId }: ProjectScope, mails: readonly AnsweredMail[]) => ({
  environmentId,
  ids: mails.map(({ deliveryId }) => deliveryId),
  queuedOn: mails[0]!.queuedOn,
});

/** A mail, locked; null when there is none. */
async function lockMail(
  database: Database,
  scope: ProjectScope,
  deliveryId: string,
): Promise<AnsweredMail | null> {
  const [mail] = await mailsOf(database, scope, [deliveryId]).forUpdate().execute();
  return mail ?? null;
}

/** The mails that were sent or given up, locked in one order. The others are left to their senders; `open` are their ids. */
async function lockEndedMails(
  database: Database,
  scope: ProjectScope,
  deliveryIds: readonly string[],
): Promise<{ readonly ended: readonly AnsweredMail[]; readonly open: readonly string[] }> {
  const ended = await mailsOf(database, scope, deliveryIds)
    .where('finishedAt', 'is not', null)
    .orderBy('id')
    .forUpdate()
    .execute();
  const locked = new Set(ended.map(({ deliveryId }) => deliveryId));
  const others = deliveryIds.filter((id) => !locked.has(id));
  const open = others.length === 0 ? [] : await mailsOf(database, scope, others).execute();
  return { ended, open: open.map(({ deliveryId }) => deliveryId) };
}

function mailsOf(database: Database, { environmentId }: ProjectScope, deliveryIds: readonly string[]) {
  return database
    .tables<MessagingTables>()
    .selectFrom('messaging.deliveries')
    .modifyFront(named('mails_of_feedback'))
    .select(['id as deliveryId', 'queuedOn', 'kind', 'sourceId', 'subscriberId', 'address', 'addressKey'])
    .select(['sentAt', 'finishedAt', 'bouncedAt', 'relayKey'])
    .where((eb) => eb('id', '=', eb.fn.any(eb.val([...deliveryIds]))))
    .where('environmentId', '=', environmentId);
}

/** Times of answers whose events are kept no longer; a bounce is known from its delivery. */
const KEPT_ANSWERS = { UNSUBSCRIBED: sql`g.unsubscribed_at`, COMPLAINED: sql`g.complained_at` };

/** A mail of a campaign, or of an automation, whose campaign is null. */
interface MailWithEvents extends Pick<AnsweredMail, 'deliveryId' | 'queuedOn' | 'subscriberId'> {
  readonly campaignId: string | null;
}

interface Answer {
  readonly environmentId: number;
  readonly type: keyof typeof KEPT_ANSWERS;
  readonly at: Date;
  readonly mail: MailWithEvents;
}

/** Adds the event of a mail, unless it has one; returns `campaign_id`. The delivery's lock keeps two of a kind apart. */
function addingAnswer({ environmentId, type, at, mail }: Answer): RawBuilder<unknown> {
  const { campaignId, deliveryId, subscriberId } = mail;
  return sql`
    insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type)
    select ${newId()}, ${at}, ${environmentId}, ${campaignId}, ${deliveryId}, ${subscriberId}, ${type}
    where ${isUnanswered({ environmentId, type, mail })}
    returning campaign_id`;
}

/** Condition that a mail has no answer of the type yet. */
function isUnanswered({
  environmentId,
  type,
  mail: { campaignId, deliveryId, queuedOn },
}: Pick<Answer, 'environmentId' | 'type'> & { readonly mail: Omit<MailWithEvents, 'subscriberId'> }) {
  const isSame = campaignId === null ? sql`e.campaign_id is null` : sql`e.campaign_id = ${campaignId}`;
  return sql`(not exists (
      select 1 from messaging.delivery_events e
      where ${isSame} and e.delivery_id = ${deliveryId} and e.environment_id = ${environmentId} and e.type = ${type}
    ) and not exists (
      select 1 from messaging.delivery_engagement g where g.delivery_id = ${deliveryId} and g.queued_on = ${queuedOn}
        and g.environment_id = ${environmentId} and ${KEPT_ANSWERS[type]} is not null
    ))`;
}
