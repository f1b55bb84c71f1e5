import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TopicsQuery } from '#audience';
import type { Page, PageRequest, ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import type { Campaign, CampaignStatus } from './campaign.js';

const COLUMNS = [
  'id',
  'campaignKey',
  'name',
  'subject',
  'previewText',
  'contentJson',
  'contentText',
  'status',
  'sendStrategy',
  'topicIds',
  'segmentIds',
  'estimatedRecipientCount',
  'estimatedAt',
  'scheduledAt',
  'completedAt',
  'fromEmail',
  'fromName',
  'replyTo',
  'preSendScore',
  'preSendStatus',
  'createdAt',
  'updatedAt',
] as const;

/** A campaign as lists show it. */
export type CampaignRow = Pick<Campaign, (typeof COLUMNS)[number]>;

export interface CampaignFilter {
  readonly status?: CampaignStatus | undefined;
  readonly topicKey?: string | undefined;
}

@Injectable()
export class CampaignsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
  ) {}

  /** Newest first. Those of a topic that there is not are none. */
  async list(
    scope: ProjectScope,
    { page, size }: PageRequest,
    { status, topicKey }: CampaignFilter,
  ): Promise<Page<CampaignRow>> {
    const topicId = topicKey === undefined ? undefined : await this.topics.idOf(scope, topicKey);
    if (topicId === null) return { items: [], totalElements: 0 };
    return this.database.transaction(scope, async () => {
      const campaigns = this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.campaigns')
        .where('environmentId', '=', scope.environmentId)
        .where('deletedAt', 'is', null)
        .$if(status !== undefined, (query) => query.where('status', '=', status!))
        .$if(topicId !== undefined, (query) => query.where(sql<boolean>`${topicId}::uuid = any(topic_ids)`));
      const items = await campaigns
        .select(COLUMNS)
        .orderBy('createdAt', 'desc')
        .orderBy('id', 'desc')
        .limit(size)
        .offset(page * size)
        .execute();
      const { total } = await campaigns
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return { items, totalElements: total };
    });
  }
}
