import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  NotFoundError,
  offsetOf,
  type Page,
  pageOfRows,
  type PageRequest,
  type Place,
  type ProjectScope,
} from '#kernel';
import { countOf, Database, keptDay } from '#platform';
import { isCampaignKey } from '../campaigns/campaign.js';
import { PARTITION } from '../deliveries/campaign-front.query.js';
import type { DeliveryState } from '../deliveries/delivery.js';
import type { MessagingTables } from '../messaging-tables.js';

/** A delivery as lists show it. */
export interface DeliveryRow {
  readonly id: string;
  /** Null when the subscriber was erased, the address as well. */
  readonly subscriberId: string | null;
  readonly email: string | null;
  readonly status: DeliveryState;
  readonly reason: string | null;
  readonly locale: string | null;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly messageId: string;
  readonly possibleDuplicate: boolean;
  readonly relayKey: string | null;
  readonly providerMessageId: string | null;
  readonly nextAttemptAt: Date | null;
  readonly sentAt: Date | null;
  readonly finishedAt: Date | null;
}

/** States whose deliveries lie behind the campaign's front, and those that `deliveries_exceptional` holds. */
const OPEN: readonly DeliveryState[] = ['PENDING', 'CLAIMED', 'SENDING', 'DEFERRED'];
const EXCEPTIONAL: readonly DeliveryState[] = ['FAILED', 'AMBIGUOUS', 'SKIPPED', 'CANCELLED'];

interface ListedCampaign {
  readonly id: string;
  /** Null before it was sent. */
  readonly queuedOn: string | null;
  /** Null when it was sent again, which queues those anew whom it did not reach. */
  readonly queued: number | null;
  readonly sent: number;
  /** Its deliveries are kept no longer. */
  readonly isLetGo: boolean;
}

/** Lists the deliveries of a campaign. */
@Injectable()
export class DeliveriesQuery {
  constructor(private readonly database: Database) {}

  /**
   * All of a campaign's deliveries were made at one moment: newest first is by subscriber, the youngest first, behind those of
   * erased ones. `NotFoundError` without such a campaign.
   */
  list(
    scope: ProjectScope,
    campaignKey: string,
    request: PageRequest,
    status: DeliveryState | undefined,
  ): Promise<Page<DeliveryRow>> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const read = async () => {
      const campaign = await this.#campaign(scope, campaignKey);
      if (campaign.isLetGo) return pageOfRows([], request, 0);
      const rows = await this.#deliveriesOf(scope, campaign, status)
        .select(['d.id', 'd.subscriberId', 'd.reason', 'd.locale', 'd.messageId', 'd.possibleDuplicate'])
        .select(['d.lastError', 'd.relayKey', 'd.providerMessageId'])
        .select(['d.state as status', 'd.attempt as attempts', 'd.sentAt', 'd.finishedAt'])
        .select(sql<string | null>`case when d.subscriber_id is not null then d.address end`.as('email'))
        .select(
          sql<Date | null>`case when d.finished_at is null then d.next_attempt_at end`.as('nextAttemptAt'),
        )
        .select(sql<Place>`json_build_array(d.subscriber_id, d.id)`.as('place'))
        .where(isBehind(request))
        .orderBy('d.subscriberId', 'desc')
        .orderBy('d.id', 'desc')
        .limit(request.size + 1)
        .offset(offsetOf(request))
        .execute();
      const total = request.after?.totalElements ?? (await this.#total(scope, campaign, status));
      return pageOfRows(rows, request, total);
    };
    return this.database.read(scope, { isList: true, onReplica: true }, read);
  }

  async #campaign(scope: ProjectScope, campaignKey: string) {
    const day = await keptDay(this.database, scope, 'DELIVERIES');
    const { rows } = await sql<ListedCampaign>`
      select c.id, ${PARTITION} as queued_on, case when c.audience_at = c.queued_at then c.expanded_emails end as queued,
        (select coalesce(sum(k.sent), 0)::bigint from messaging.campaign_counters k
          where k.campaign_id = c.id and k.environment_id = c.environment_id) as sent,
        coalesce(${PARTITION} < ${day}::date, false) as is_let_go
      from messaging.campaigns c
      where c.environment_id = ${scope.environmentId} and c.campaign_key = ${campaignKey} and c.deleted_at is null
    `.execute(this.database.tables());
    if (rows[0] === undefined) throw new NotFoundError();
    return rows[0];
  }

  /** Known of all and of those that were sent, which may be millions; the rest are counted in the indexes that have no others. */
  async #total(
    scope: ProjectScope,
    campaign: ListedCampaign,
    status: DeliveryState | undefined,
  ): Promise<number> {
    const { queued, sent } = campaign;
    if (status === 'SENT') return sent;
    return status === undefined && queued !== null
      ? queued
      : countOf(this.#deliveriesOf(scope, campaign, status));
  }

  /** Says in the indexes' own words what follows from the state, so that a rare one is not searched among all. */
  #deliveriesOf(scope: ProjectScope, { id, queuedOn }: ListedCampaign, status: DeliveryState | undefined) {
    return this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.deliveries as d')
      .where('d.sourceId', '=', id)
      .where('d.queuedOn', '=', sql.lit(queuedOn))
      .where('d.environmentId', '=', scope.environmentId)
      .$if(status !== undefined, (all) => all.where('d.state', '=', status!))
      .$if(OPEN.includes(status!), (all) => all.where(isOpen(scope, id)))
      .$if(EXCEPTIONAL.includes(status!), (all) => all.where('d.reason', 'is not', null));
  }
}

/**
 * Open, of that campaign: the front is looked up once. The planner takes an end alone for a third of the campaign, and both ends of
 * a range for a few rows.
 */
function isOpen(scope: ProjectScope, id: string): RawBuilder<boolean> {
  const isIt = sql`c.id = ${id} and c.environment_id = ${scope.environmentId}`;
  return sql<boolean>`(
    d.finished_at is null and d.kind = 'CAMPAIGN' and (d.next_attempt_at, d.id) >= (
      (select c.front_at from messaging.campaigns c where ${isIt}), (select c.front_id from messaging.campaigns c where ${isIt}))
    and d.next_attempt_at between (select c.front_at from messaging.campaigns c where ${isIt}) and 'infinity'
  )`;
}

/** Deliveries of erased subscribers come first, placed by their id alone. */
function isBehind({ after }: PageRequest): RawBuilder<boolean> {
  if (!after) return sql<boolean>`true`;
  const [subscriberId, id] = after.place;
  return subscriberId === null
    ? sql<boolean>`(d.subscriber_id is not null or d.id < ${id}::uuid)`
    : sql<boolean>`(d.subscriber_id, d.id) < (${subscriberId}::uuid, ${id}::uuid)`;
}
