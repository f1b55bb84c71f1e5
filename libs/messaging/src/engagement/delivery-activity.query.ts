import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { ActivityCatalogue, type MailActivity, type MailActivitySource, type MailFilter } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';

/** Activity of campaigns' and automations' mail, and of people with it, for the audience's rules. */
@Injectable()
export class DeliveryActivityQuery implements MailActivitySource, OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityCatalogue,
  ) {}

  onModuleInit(): void {
    this.activity.register(this);
  }

  rows(scope: ProjectScope, type: MailActivity, mails: MailFilter): RawBuilder<unknown> {
    switch (type) {
      case 'SENT':
        return deliveries(scope, mails, sql`d.sent_at`, sql`d.sent_at is not null`);
      case 'DELIVERED':
        return deliveries(scope, mails, sql`d.sent_at`, sql`d.sent_at is not null and d.bounced_at is null`);
      case 'BOUNCED':
        return deliveries(scope, mails, sql`d.bounced_at`, sql`d.bounced_at is not null`);
      case 'OPENED':
        // A click counts as an open.
        return events(scope, mails, ['OPENED', 'CLICKED']);
      case 'CLICKED':
      case 'COMPLAINED':
      case 'UNSUBSCRIBED':
        return events(scope, mails, [type]);
    }
  }

  campaignIds(scope: ProjectScope, campaignKeys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const keys = campaignKeys.filter((key) => key.isWellFormed() && !key.includes('\u0000'));
    return this.database.transaction(scope, async () => {
      const campaigns = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.campaigns')
        .select(['id', 'campaignKey'])
        .where('environmentId', '=', scope.environmentId)
        .where('campaignKey', '=', sql<string>`any(${keys}::text[])`)
        .execute();
      return new Map(campaigns.map(({ id, campaignKey }) => [campaignKey, id]));
    });
  }
}

function deliveries(
  scope: ProjectScope,
  mails: MailFilter,
  occurredAt: RawBuilder<unknown>,
  happened: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`select d.subscriber_id, ${occurredAt} as occurred_at from messaging.deliveries d
    where d.environment_id = ${scope.environmentId} and d.kind in ('CAMPAIGN', 'AUTOMATION') and ${happened}
      and d.subscriber_id is not null ${ofCampaigns(scope, mails, sql`d.source_id`)}`;
}

function events(scope: ProjectScope, mails: MailFilter, types: readonly string[]): RawBuilder<unknown> {
  return sql`select e.subscriber_id, e.occurred_at from messaging.delivery_events e
    where e.environment_id = ${scope.environmentId} and e.type = any(${[...types]}::text[])
      and e.subscriber_id is not null ${ofCampaigns(scope, mails, sql`e.campaign_id`)}
      and e.classification = 'human' ${mails.url === undefined ? sql`` : followed(scope, mails.url)}`;
}

/** Events of a link: the event's own or, by its number, one of the sets that the campaign's mails went out with. */
function followed({ environmentId }: ProjectScope, url: string): RawBuilder<unknown> {
  return sql`and (e.url = ${url} or (e.url is null and exists (
    select 1 from messaging.link_sets s
    where s.campaign_id = e.campaign_id and s.environment_id = ${environmentId}
      and s.translation is null and s.urls[e.link_number] = ${url}
  )))`;
}

function ofCampaigns(
  scope: ProjectScope,
  { campaignId, topicId }: MailFilter,
  column: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const ofCampaign = campaignId === undefined ? sql`` : sql`and ${column} = ${campaignId}::uuid`;
  if (topicId === undefined) return ofCampaign;
  return sql`${ofCampaign} and ${column} in (
    select c.id from messaging.campaigns c
    where c.environment_id = ${scope.environmentId} and ${topicId}::uuid = any(c.topic_ids)
  )`;
}
