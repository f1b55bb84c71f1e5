import { defineEntity, p } from '@mikro-orm/postgresql';
import { Campaign, type CampaignStatus, type PreSendStatus, type SendStrategy } from './campaign.js';

/** messaging.campaigns, as far as the author's side of a campaign goes; the engine's columns are SQL's. */
export const CampaignSchema = defineEntity({
  class: Campaign,
  tableName: 'campaigns',
  schema: 'messaging',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number'),
    campaignKey: p.text(),
    name: p.text(),
    subject: p.text(),
    previewText: p.text().nullable(),
    contentJson: p.text().nullable(),
    contentText: p.text().nullable(),
    fromEmail: p.text().nullable(),
    fromName: p.text().nullable(),
    topicIds: p.array().columnType('uuid[]'),
    segmentIds: p.array().columnType('uuid[]'),
    sendStrategy: p.string().$type<SendStrategy>().nullable(),
    scheduledAt: p.datetime(3).nullable(),
    status: p.string().$type<CampaignStatus>(),
    failureReason: p.text().nullable(),
    estimatedRecipientCount: p.bigint('number').nullable(),
    preSendScore: p.integer().nullable(),
    preSendStatus: p.string().$type<PreSendStatus>().nullable(),
    queuedAt: p.datetime(3).nullable(),
    usagePeriod: p.datetime(3).nullable(),
    reservedEmails: p.bigint('number'),
    completedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
