import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Page, PageRequest, ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { CampaignStatus, PreSendStatus, SendStrategy } from './campaign.js';

/** A campaign as lists and single reads show it. */
export interface CampaignRow {
  readonly id: string;
  readonly campaignKey: string;
  readonly name: string;
  readonly subject: string;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
  readonly status: CampaignStatus;
  readonly sendStrategy: SendStrategy | null;
  readonly topicIds: string[];
  readonly segmentIds: string[];
  readonly estimatedRecipientCount: number | null;
  readonly estimatedAt: Date | null;
  readonly scheduledAt: Date | null;
  readonly completedAt: Date | null;
  readonly fromEmail: string | null;
  readonly fromName: string | null;
  readonly replyTo: string | null;
  readonly preSendScore: number | null;
  readonly preSendStatus: PreSendStatus | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface CampaignFilter {
  readonly status?: CampaignStatus | undefined;
  readonly topicKey?: string | undefined;
}

const COLUMNS = sql`
  c.id, c.campaign_key as "campaignKey", c.name, c.subject, c.preview_text as "previewText",
  c.content_json as "contentJson", c.content_text as "contentText", c.status, c.send_strategy as "sendStrategy",
  c.topic_ids as "topicIds", c.segment_ids as "segmentIds", c.estimated_recipient_count as "estimatedRecipientCount",
  c.estimated_at as "estimatedAt", c.reply_to as "replyTo",
  c.scheduled_at as "scheduledAt", c.completed_at as "completedAt", c.from_email as "fromEmail",
  c.from_name as "fromName", c.pre_send_score as "preSendScore", c.pre_send_status as "preSendStatus",
  c.created_at as "createdAt", c.updated_at as "updatedAt"
`;

@Injectable()
export class CampaignsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Newest first. `topicId` is looked up by the caller, who knows topics. */
  list(
    scope: ProjectScope,
    { page, size }: PageRequest,
    filter: { readonly status?: CampaignStatus | undefined; readonly topicId?: string | undefined },
  ): Promise<Page<CampaignRow>> {
    const where = sql`
      c.environment_id = ${scope.environmentId} and c.deleted_at is null
      ${filter.status === undefined ? sql`` : sql`and c.status = ${filter.status}`}
      ${filter.topicId === undefined ? sql`` : sql`and ${filter.topicId}::uuid = any(c.topic_ids)`}
    `;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CampaignRow>`
        select ${COLUMNS} from messaging.campaigns c where ${where}
        order by c.created_at desc, c.id desc limit ${size} offset ${page * size}
      `.execute(db);
      const total = await sql<{ total: number }>`
        select count(*) as total from messaging.campaigns c where ${where}
      `.execute(db);
      return { items: rows, totalElements: total.rows[0]?.total ?? 0 };
    });
  }
}
