import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type BounceClass, CONSEQUENCES } from '#deliverability';
import { Clock, newId, type ProjectScope } from '#kernel';
import { Database, isOf, named } from '#platform';
import type { DeliveriesTable, MessagingTables } from '../messaging-tables.js';
import { AddressConsequencesService, type FailedMail } from './address-consequences.service.js';
import { addToCounters, addToMinutes } from './campaign-counters.repository.js';
import { MailPublisherService } from './mail-publisher.service.js';

/** A mail that something came back of. */
interface AnsweredMail
  extends FailedMail, Pick<DeliveriesTable, 'queuedOn' | 'sourceId' | 'sentAt' | 'bouncedAt'> {}

type FeedbackType = 'UNSUBSCRIBED' | 'COMPLAINED' | 'BOUNCED';

/** A mail that a provider names by this id. */
export interface RelayedDelivery extends Pick<DeliveriesTable, 'address'> {
  readonly deliveryId: string;
  /** As the provider names it: without the brackets. */
  readonly messageId: string;
}

/** Our Message-ID: the delivery's id at the signing domain. */
const OWN_MESSAGE_ID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})@/i;

type BounceType = 'HARD' | 'SOFT';

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
export class DeliveryFeedbackService {
  constructor(
    private readonly database: Database,
    private readonly addresses: AddressConsequencesService,
    private readonly publisher: MailPublisherService,
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

  /** The same for many: the first of each counts. Only bounces of mails that were sent are recorded, only campaigns' counted. */
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

  /** Its reader unsubscribed through it. The consents are the caller's part of the transaction. */
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
    await sql`${named('note_bounces')}
      update messaging.deliveries d set bounced_at = ${now}, bounce_type = b."bounceType", bounce_class = b."bounceClass"
      from jsonb_to_recordset(${JSON.stringify(mails.map((mail) => ({ ...keyOf(mail), ...typeOf(mail) })))}::jsonb)
        as b("deliveryId" uuid, "queuedOn" date, "bounceType" text, "bounceClass" text)
      where d.id = b."deliveryId" and d.queued_on = b."queuedOn" and d.environment_id = ${scope.environmentId}
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
    .select(['sentAt', 'finishedAt', 'bouncedAt'])
    .where((eb) => eb('id', '=', eb.fn.any(eb.val([...deliveryIds]))))
    .where('environmentId', '=', environmentId);
}

/** Times of answers whose events are kept no longer; a bounce is known from its delivery. */
const KEPT_ANSWERS = { UNSUBSCRIBED: sql`g.unsubscribed_at`, COMPLAINED: sql`g.complained_at` };

const isUnanswered = (scope: ProjectScope, answeredAt: RawBuilder<unknown>) => sql`not exists (
  select 1 from messaging.delivery_engagement g where g.delivery_id = m."deliveryId" and g.queued_on = m."queuedOn"
    and g.environment_id = ${scope.environmentId} and ${answeredAt} is not null
)`;

/** An answer to a mail. */
interface MailAnswer extends Pick<
  AnsweredMail,
  'deliveryId' | 'queuedOn' | 'kind' | 'sourceId' | 'subscriberId'
> {
  readonly bounceType?: 'HARD' | 'SOFT';
}

/**
 * Adds the events of mails of campaigns and automations, once each; resolves to the ids of deliveries for which one is new. The
 * deliveries' locks keep two of a kind apart.
 */
async function addFeedbackEvents(
  database: Database,
  scope: ProjectScope,
  { type, at, of }: { readonly type: FeedbackType; readonly at: Date; readonly of: readonly MailAnswer[] },
): Promise<Set<string>> {
  const add = async (kind: MailAnswer['kind'], isSame: RawBuilder<unknown>): Promise<string[]> => {
    const events = of
      .filter((answer) => answer.kind === kind)
      .map(({ deliveryId, queuedOn, subscriberId, sourceId: campaignId, bounceType = null }) => {
        return { id: newId(), deliveryId, queuedOn, subscriberId, campaignId, bounceType };
      });
    if (events.length === 0) return [];
    const { rows } = await sql<{ deliveryId: string }>`${named('note_delivery_events')}
      insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type,
        bounce_type)
      select m.id, ${at}, ${scope.environmentId}, ${kind === 'CAMPAIGN' ? sql`m."campaignId"` : null}, m."deliveryId",
        m."subscriberId", ${type}, m."bounceType"
      from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as m(id uuid, "deliveryId" uuid, "queuedOn" date,
        "subscriberId" uuid, "campaignId" uuid, "bounceType" text)
      where not exists (
        select 1 from messaging.delivery_events e
        where ${isSame} and e.delivery_id = m."deliveryId" and ${isOf(scope, sql`e.environment_id`)} and e.type = ${type}
      ) ${type === 'BOUNCED' ? sql`` : sql`and ${isUnanswered(scope, KEPT_ANSWERS[type])}`}
      returning delivery_id as "deliveryId"
    `.execute(database.tables());
    return rows.map(({ deliveryId }) => deliveryId);
  };
  // An automation has no statistics of its own, and its events no campaign.
  const ofCampaigns = await add('CAMPAIGN', sql`e.campaign_id = m."campaignId"`);
  return new Set([...ofCampaigns, ...(await add('AUTOMATION', sql`e.campaign_id is null`))]);
}
