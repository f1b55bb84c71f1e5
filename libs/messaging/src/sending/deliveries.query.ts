import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { isCampaignKey } from '../campaigns/campaign.js';
import { PARTITION } from '../deliveries/partition.query.js';
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

/** States whose deliveries `deliveries_open` holds, and those that `deliveries_exceptional` holds. */
const OPEN: readonly DeliveryState[] = ['PENDING', 'CLAIMED', 'SENDING', 'DEFERRED'];
const EXCEPTIONAL: readonly DeliveryState[] = ['FAILED', 'AMBIGUOUS', 'SKIPPED', 'CANCELLED'];

/** Lists the deliveries of a campaign. */
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
    return this.database.transaction(scope, async () => {
      const deliveries = await this.#deliveriesOf(scope, campaignKey, status);
      const items = await deliveries
        .select([
          'd.id',
          'd.subscriberId',
          'd.reason',
          'd.locale',
          'd.messageId',
          'd.possibleDuplicate',
          'd.lastError',
        ])
        .select(['d.relayKey', 'd.providerMessageId'])
        .select(['d.state as status', 'd.attempt as attempts', 'd.sentAt', 'd.finishedAt'])
        .select(sql<string | null>`case when d.subscriber_id is not null then d.address end`.as('email'))
        .select(
          sql<Date | null>`case when d.finished_at is null then d.next_attempt_at end`.as('nextAttemptAt'),
        )
        .orderBy('d.subscriberId', 'desc')
        .orderBy('d.id', 'desc')
        .limit(size)
        .offset(page * size)
        .execute();
      const { total } = await deliveries
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { items, totalElements: total };
    });
  }

  /** Says in the indexes' own words what follows from the state, so that a rare one is not searched among all. */
  async #deliveriesOf(scope: ProjectScope, campaignKey: string, status: DeliveryState | undefined) {
    const tables = this.database.tables<MessagingTables>();
    const campaign = await tables
      .selectFrom('messaging.campaigns as c')
      // The day is null before it was sent.
      .select(['c.id', PARTITION.as('queuedOn')])
      .where('c.environmentId', '=', scope.environmentId)
      .where('c.campaignKey', '=', campaignKey)
      .where('c.deletedAt', 'is', null)
      .executeTakeFirst();
    if (campaign === undefined) throw new NotFoundError();
    return tables
      .selectFrom('messaging.deliveries as d')
      .where('d.sourceId', '=', campaign.id)
      .where('d.queuedOn', '=', campaign.queuedOn)
      .$if(status !== undefined, (all) => all.where('d.state', '=', status!))
      .$if(OPEN.includes(status!), (all) =>
        all.where('d.finishedAt', 'is', null).where('d.kind', '=', 'CAMPAIGN'),
      )
      .$if(EXCEPTIONAL.includes(status!), (all) => all.where('d.reason', 'is not', null));
  }
}
