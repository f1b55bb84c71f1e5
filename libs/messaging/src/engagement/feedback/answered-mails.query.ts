import { type RawBuilder, sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { type Database, environmentOf, isOf, prepared } from '#platform';
import type { DeliveriesTable, MessagingTables } from '../../messaging-tables.js';
import type { FailedMail } from './address-consequences.service.js';

/** A mail that something came back of. */
export interface AnsweredMail
  extends FailedMail, Pick<DeliveriesTable, 'queuedOn' | 'sourceId' | 'sentAt' | 'bouncedAt'> {}

export type FeedbackType = 'UNSUBSCRIBED' | 'COMPLAINED' | 'BOUNCED';

/** A mail, locked; null when there is none. */
export async function lockMail(
  database: Database,
  scope: ProjectScope,
  deliveryId: string,
): Promise<AnsweredMail | null> {
  const [mail] = await mailsOf(database, scope, [deliveryId]).forUpdate().execute();
  return mail ?? null;
}

/**
 * Those of the mails that were sent or given up, locked in one order. The others are left to who sends them, in whatever order;
 * `open` are their ids.
 */
export async function lockEndedMails(
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
    .modifyFront(prepared)
    .select(['id as deliveryId', 'queuedOn', 'kind', 'sourceId', 'subscriberId', 'address', 'addressKey'])
    .select(['sentAt', 'finishedAt', 'bouncedAt'])
    .where((eb) => eb('id', '=', eb.fn.any(eb.val([...deliveryIds]))))
    .where('environmentId', '=', environmentId);
}

/** Of an answer whose event is kept no longer; a bounce is known from its delivery. */
const KEPT_ANSWERS = { UNSUBSCRIBED: sql`g.unsubscribed_at`, COMPLAINED: sql`g.complained_at` };

const isUnanswered = (scope: ProjectScope, answeredAt: RawBuilder<unknown>) => sql`not exists (
  select 1 from messaging.delivery_engagement g where g.delivery_id = m."deliveryId" and g.queued_on = m."queuedOn"
    and g.environment_id = ${environmentOf(scope)} and ${answeredAt} is not null
)`;

/** What was answered by a mail. */
export interface MailAnswer extends Pick<
  AnsweredMail,
  'deliveryId' | 'queuedOn' | 'kind' | 'sourceId' | 'subscriberId'
> {
  readonly bounceType?: 'HARD' | 'SOFT';
}

/**
 * Adds the events of mails of campaigns and automations, once each: ids of the deliveries for which one is new. The
 * deliveries' locks keep two of a kind apart.
 */
export async function addFeedbackEvents(
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
    const { rows } = await sql<{ deliveryId: string }>`${prepared}
      insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type, bounce_type)
      select m.id, ${at}, ${scope.environmentId}, ${kind === 'CAMPAIGN' ? sql`m."campaignId"` : null}, m."deliveryId", m."subscriberId",
        ${type}, m."bounceType"
      from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as m(id uuid, "deliveryId" uuid, "queuedOn" date,
        "subscriberId" uuid, "campaignId" uuid, "bounceType" text)
      where not exists (
        select 1 from messaging.delivery_events e where ${isSame} and e.delivery_id = m."deliveryId" and ${isOf(scope, sql`e.environment_id`)} and e.type = ${type}
      ) ${type === 'BOUNCED' ? sql`` : sql`and ${isUnanswered(scope, KEPT_ANSWERS[type])}`}
      returning delivery_id as "deliveryId"
    `.execute(database.tables());
    return rows.map(({ deliveryId }) => deliveryId);
  };
  // An automation has no statistics of its own, and its events no campaign.
  const ofCampaigns = await add('CAMPAIGN', sql`e.campaign_id = m."campaignId"`);
  return new Set([...ofCampaigns, ...(await add('AUTOMATION', sql`e.campaign_id is null`))]);
}
