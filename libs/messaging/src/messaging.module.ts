import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule, ReturnPathsModule, ThrottlingModule } from '#deliverability';
import { AutomationsModule } from './automations/automations.module.js';
import { CampaignAnalysisService } from './campaigns/campaign-analysis.service.js';
import { CampaignAudienceQuery } from './campaigns/campaign-audience.query.js';
import { CampaignAnnouncements } from './campaigns/campaign-announcements.service.js';
import { CampaignArchive } from './campaigns/campaign-archive.service.js';
import { CampaignControlService } from './campaigns/campaign-control.service.js';
import { CampaignDomainUsageQuery } from './campaigns/campaign-domain-usage.query.js';
import { CampaignRepository } from './campaigns/campaign.repository.js';
import { CampaignRetryService } from './campaigns/campaign-retry.service.js';
import { CampaignSendingService } from './campaigns/campaign-sending.service.js';
import { CampaignUsageQuery } from './campaigns/campaign-usage.query.js';
import { CampaignStarter } from './campaigns/campaign-starter.service.js';
import { CampaignStopper } from './campaigns/campaign-stopper.service.js';
import { CampaignsQuery } from './campaigns/campaigns.query.js';
import { CampaignsService } from './campaigns/campaigns.service.js';
import { ContentReviews } from './campaigns/content-reviews.service.js';
import { DestinationOutlook } from './campaigns/destination-outlook.service.js';
import { PreSendAnalysisService } from './campaigns/pre-send-analysis.service.js';
import { SendingReadiness } from './campaigns/sending-readiness.service.js';
import { SendersModule } from './campaigns/senders.module.js';
import { CampaignMailsService } from './deliveries/campaign-mails.service.js';
import { DeliveryActivityQuery } from './deliveries/delivery-activity.query.js';
import { CampaignPreviewService, PreviewRecipients } from './deliveries/campaign-preview.service.js';
import { DeliveriesQuery } from './deliveries/deliveries.query.js';
import { FailedDeliveriesQuery } from './deliveries/failed-deliveries.query.js';
import { MailRenderingModule } from './deliveries/mail-rendering.module.js';
import { MailPersonalDataQuery } from './erasure/mail-personal-data.query.js';
import { TestDeliveriesService } from './deliveries/test-deliveries.service.js';
import { TestMailsService } from './deliveries/test-mails.service.js';
import { CampaignBreakdowns } from './campaign-reports/campaign-breakdowns.service.js';
import { CampaignOverviewQuery } from './campaign-reports/campaign-overview.query.js';
import { CampaignReportsService } from './campaign-reports/campaign-reports.service.js';
import { ReportLinks } from './campaign-reports/report-links.service.js';
import { MailPagesService } from './mail-pages/mail-pages.service.js';
import { MailViewService } from './mail-pages/mail-view.service.js';
import { CampaignStatisticsQuery } from './reports/campaign-statistics.query.js';
import { ReportExportsService } from './reports/report-exports.service.js';
import { StatisticsCheckQuery } from './reports/statistics-check.query.js';
import { TimelineQuery } from './reports/timeline.query.js';
import { SendingStops } from './sending-guard/sending-stops.service.js';
import { TestInboxQuery } from './test-inbox/test-inbox.query.js';
import { AddressConsequences } from './tracking/address-consequences.service.js';
import { DeliveryFeedback } from './tracking/delivery-feedback.service.js';
import { LinkSetsModule } from './tracking/link-sets.module.js';
import { MailAnnouncements } from './tracking/mail-announcements.service.js';
import { TrackedEvents } from './tracking/tracked-events.service.js';
import { TrackedLinks } from './tracking/tracked-links.service.js';
import { TrackingRecorder } from './tracking/tracking-recorder.service.js';

/** What both edges use: writing campaigns, their reports, the test inbox, the pages behind mails' links. */
@Module({
  imports: [
    AccessModule,
    AudienceModule,
    AutomationsModule,
    BillingModule,
    DeliverabilityModule,
    LinkSetsModule,
    MailRenderingModule,
    ReturnPathsModule,
    SendersModule,
    ThrottlingModule,
  ],
  providers: [
    AddressConsequences,
    CampaignAnalysisService,
    CampaignAudienceQuery,
    CampaignAnnouncements,
    CampaignArchive,
    CampaignControlService,
    CampaignDomainUsageQuery,
    CampaignMailsService,
    CampaignBreakdowns,
    CampaignOverviewQuery,
    CampaignPreviewService,
    CampaignReportsService,
    CampaignRepository,
    CampaignRetryService,
    CampaignSendingService,
    CampaignStarter,
    CampaignStopper,
    CampaignsQuery,
    CampaignsService,
    CampaignStatisticsQuery,
    CampaignUsageQuery,
    ContentReviews,
    DestinationOutlook,
    DeliveryActivityQuery,
    DeliveriesQuery,
    DeliveryFeedback,
    FailedDeliveriesQuery,
    MailAnnouncements,
    MailPagesService,
    MailViewService,
    PreSendAnalysisService,
    PreviewRecipients,
    ReportExportsService,
    ReportLinks,
    SendingReadiness,
    SendingStops,
    TestDeliveriesService,
    TestInboxQuery,
    TestMailsService,
    StatisticsCheckQuery,
    TimelineQuery,
    TrackedEvents,
    TrackedLinks,
    TrackingRecorder,
  ],
  exports: [
    AddressConsequences,
    CampaignAnalysisService,
    CampaignAnnouncements,
    CampaignArchive,
    CampaignBreakdowns,
    CampaignControlService,
    CampaignDomainUsageQuery,
    CampaignMailsService,
    CampaignOverviewQuery,
    CampaignPreviewService,
    CampaignReportsService,
    CampaignRepository,
    CampaignRetryService,
    CampaignSendingService,
    CampaignsService,
    CampaignStarter,
    CampaignStatisticsQuery,
    CampaignStopper,
    DeliveriesQuery,
    DeliveryFeedback,
    FailedDeliveriesQuery,
    MailAnnouncements,
    LinkSetsModule,
    MailPagesService,
    MailViewService,
    MailRenderingModule,
    PreSendAnalysisService,
    ReportExportsService,
    ReportLinks,
    SendersModule,
    SendingStops,
    TestInboxQuery,
    StatisticsCheckQuery,
    TestMailsService,
    TimelineQuery,
    TrackedEvents,
    TrackedLinks,
  ],
})
export class MessagingModule {}

/** What mail holds about a person, for the operator. */
@Module({ providers: [MailPersonalDataQuery], exports: [MailPersonalDataQuery] })
export class MailPersonalDataModule {}
