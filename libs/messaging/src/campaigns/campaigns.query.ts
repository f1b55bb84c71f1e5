import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { TopicsQuery } from '#audience';
import { NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, NEWEST_FIRST } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { type Campaign, type CampaignStatus, isCampaignKey } from './campaign.js';

const COLUMNS = [
  'id',
  'campaignKey',
  'name',
  'subject',
  'previewText',
  'contentJson',
  'contentText',
  'translations',
  'status',
  'sendStrategy',
  'topicIds',
  'segmentIds',
  'estimatedRecipientCount',
  'estimatedAt',
  'scheduledAt',
  'scheduledAtLocal',
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

/** Those of a project that are not deleted. */
function campaignsOf(tables: Kysely<MessagingTables>, { environmentId }: ProjectScope) {
  return tables
    .selectFrom('messaging.campaigns')
    .where('environmentId', '=', environmentId)
    .where('deletedAt', 'is', null);
}

/** The campaign of this key; throws `NotFoundError` when none can have it. */
export function campaignNamed(tables: Kysely<MessagingTables>, scope: ProjectScope, campaignKey: string) {
  if (!isCampaignKey(campaignKey)) throw new NotFoundError();
  return campaignsOf(tables, scope).where('campaignKey', '=', campaignKey);
}

/** The campaign of this id if it was sent, with the partition of its deliveries, `2026-03-01`. */
export function sentCampaign(tables: Kysely<MessagingTables>, scope: ProjectScope, id: string) {
  return campaignsOf(tables, scope)
    .where('id', '=', id)
    .where('queuedAt', 'is not', null)
    .select(['id', 'campaignKey', 'name', 'subject', 'queuedAt'])
    .select(sql<string>`to_char(queued_at at time zone 'UTC', 'YYYY-MM-DD')`.as('queuedOn'))
    .select(sql<string[]>`array(select jsonb_object_keys(translations))`.as('translations'))
    .$narrowType<{ queuedAt: Date }>();
}

/** Lists campaigns. */
@Injectable()
export class CampaignsQuery {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicsQuery,
  ) {}

  /** Newest first. Those of a topic that there is not are none. */
  async list(
    scope: ProjectScope,
    request: PageRequest,
    { status, topicKey }: CampaignFilter,
  ): Promise<Page<CampaignRow>> {
    const topicId = topicKey === undefined ? undefined : await this.topics.idOf(scope, topicKey);
    if (topicId === null) return { items: [], totalElements: 0, next: null };
    return this.database.list(scope, async () => {
      const campaigns = campaignsOf(this.database.tables(), scope)
        .$if(status !== undefined, (query) => query.where('status', '=', status!))
        .$if(topicId !== undefined, (query) => query.where(sql<boolean>`${topicId}::uuid = any(topic_ids)`));
      return NEWEST_FIRST.page(campaigns.select(COLUMNS), campaigns, request);
    });
  }
}
