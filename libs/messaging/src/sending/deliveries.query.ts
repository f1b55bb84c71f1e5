import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { isCampaignKey } from '../campaigns/campaign.js';
import type { DeliveryState } from '../deliveries/delivery.js';

/** A delivery as lists show it. */
export interface DeliveryRow {
  readonly id: string;
  /** Null when the subscriber was erased, the address as well. */
  readonly subscriberId: string | null;
  readonly email: string | null;
  readonly status: DeliveryState;
  readonly reason: string | null;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly messageId: string;
  readonly possibleDuplicate: boolean;
  readonly nextAttemptAt: Date | null;
  readonly sentAt: Date | null;
  readonly finishedAt: Date | null;
}

interface QueuedCampaign {
  readonly id: string;
  /** Null before it was sent. */
  readonly queued_on: string | null;
}

/** States whose deliveries `deliveries_open` holds, and those that `deliveries_exceptional` holds. */
const OPEN: readonly DeliveryState[] = ['PENDING', 'CLAIMED', 'SENDING', 'DEFERRED'];
const EXCEPTIONAL: readonly DeliveryState[] = ['FAILED', 'AMBIGUOUS', 'SKIPPED', 'CANCELLED'];

const COLUMNS = sql`
  d.id, d.subscriber_id as "subscriberId", case when d.subscriber_id is not null then d.address end as email,
  d.state as status, d.reason, d.attempt as attempts, d.last_error as "lastError", d.message_id as "messageId",
  d.possible_duplicate as "possibleDuplicate",
  case when d.finished_at is null then d.next_attempt_at end as "nextAttemptAt",
  d.sent_at as "sentAt", d.finished_at as "finishedAt"
`;

/** Reads who was written down for a campaign, and how each stands. */
@Injectable()
export class DeliveriesQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /**
   * All of a campaign's deliveries were made at one moment: newest first is by subscriber, the youngest first.
   * `NotFoundError` without such a campaign.
   */
  list(
    scope: ProjectScope,
    campaignKey: string,
    { page, size }: PageRequest,
    status: DeliveryState | undefined,
  ): Promise<Page<DeliveryRow>> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    return this.database.transaction(scope, async ({ db }) => {
      const campaigns = await sql<QueuedCampaign>`
        select id, (queued_at at time zone 'UTC')::date as queued_on from messaging.campaigns
        where environment_id = ${scope.environmentId} and campaign_key = ${campaignKey} and deleted_at is null
      `.execute(db);
      const campaign = campaigns.rows[0];
      if (campaign === undefined) throw new NotFoundError();
      const where = matching(campaign, status);
      const { rows } = await sql<DeliveryRow>`
        select ${COLUMNS} from messaging.deliveries d where ${where}
        order by d.subscriber_id desc, d.id desc limit ${size} offset ${page * size}
      `.execute(db);
      const total = await sql<{ total: number }>`
        select count(*) as total from messaging.deliveries d where ${where}
      `.execute(db);
      return { items: rows, totalElements: total.rows[0]?.total ?? 0 };
    });
  }
}

/** Says in the indexes' own words what follows from the state, so that a rare one is not searched among all. */
function matching({ id, queued_on }: QueuedCampaign, status: DeliveryState | undefined): RawBuilder<unknown> {
  return sql`
    d.source_id = ${id} and d.queued_on = ${queued_on}::date
    ${status === undefined ? sql`` : sql`and d.state = ${status}`}
    ${status !== undefined && OPEN.includes(status) ? sql`and d.finished_at is null and d.kind = 'CAMPAIGN'` : sql``}
    ${status !== undefined && EXCEPTIONAL.includes(status) ? sql`and d.reason is not null` : sql``}
  `;
}
