import { defineEntity, p } from '@mikro-orm/postgresql';
import { CampaignReport, type CampaignReportStatus } from './campaign-report.js';

/** messaging.campaign_reports. The first version of each campaign is added with SQL when its time has come. */
export const CampaignReportSchema = defineEntity({
  class: CampaignReport,
  tableName: 'campaign_reports',
  schema: 'messaging',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    campaignId: p.uuid(),
    version: p.integer(),
    locale: p.text(),
    status: p.string().$type<CampaignReportStatus>(),
    content: p.text().nullable(),
    aiModelId: p.text().nullable(),
    failureReason: p.text().nullable(),
    attempt: p.integer(),
    reservationId: p.uuid().nullable(),
    generatedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
