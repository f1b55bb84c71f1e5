import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule, ReturnPathsModule, ThrottlingModule } from '#deliverability';
import { type Config, CONFIG, MailMetrics } from '#platform';
import { AutomationMailPreparation } from './automations/automation-mail-preparation.js';
import { AutomationsModule } from './automations/automations.module.js';
import { CampaignAnalysisService } from './campaigns/campaign-analysis.service.js';
import { CampaignAnnouncements } from './campaigns/campaign-announcements.service.js';
import { CampaignArchive } from './campaigns/campaign-archive.service.js';
import { CampaignControlService } from './campaigns/campaign-control.service.js';
import { CampaignDomainUsageQuery } from './campaigns/campaign-domain-usage.query.js';
import { CampaignFailureService } from './campaigns/campaign-failure.service.js';
import { CampaignRepository } from './campaigns/campaign.repository.js';
import { CampaignRetryService } from './campaigns/campaign-retry.service.js';
import { CampaignScheduler } from './campaigns/campaign-scheduler.js';
import { CampaignSendingService } from './campaigns/campaign-sending.service.js';
import { CampaignUsageQuery } from './campaigns/campaign-usage.query.js';
import { CampaignStarter } from './campaigns/campaign-starter.service.js';
import { CampaignStopper } from './campaigns/campaign-stopper.service.js';
import { CampaignsQuery } from './campaigns/campaigns.query.js';
import { CampaignsService } from './campaigns/campaigns.service.js';
import { ContentReview } from './campaigns/content-review.service.js';
import { DestinationOutlook } from './campaigns/destination-outlook.service.js';
import { PreSendAnalysisService } from './campaigns/pre-send-analysis.service.js';
import { ScheduledCampaignsQuery } from './campaigns/scheduled-campaigns.query.js';
import { ScheduledCampaignsService } from './campaigns/scheduled-campaigns.service.js';
import { SendingReadiness } from './campaigns/sending-readiness.service.js';
import { SendersModule } from './campaigns/senders.module.js';
import { CampaignClosingService } from './deliveries/campaign-closing.service.js';
import { CampaignComposer } from './deliveries/campaign-composer.service.js';
import { CampaignDepartures } from './deliveries/campaign-departures.service.js';
import { CampaignDispatchService } from './deliveries/campaign-dispatch.service.js';
import { CampaignExpansionService } from './deliveries/campaign-expansion.service.js';
import { CampaignFinishQuery } from './deliveries/campaign-finish.query.js';
import { CampaignMailsService } from './deliveries/campaign-mails.service.js';
import { CampaignPreparation } from './deliveries/campaign-preparation.js';
import { DeliveryActivityQuery } from './deliveries/delivery-activity.query.js';
import { CampaignPreviewService, PreviewRecipients } from './deliveries/campaign-preview.service.js';
import { CampaignRetryDeliveriesService } from './deliveries/campaign-retry-deliveries.service.js';
import { DeliveriesQuery } from './deliveries/deliveries.query.js';
import { DeliveryClaimsQuery } from './deliveries/delivery-claims.query.js';
import { DeliveryEngine, DeliverySources, EngineTools } from './deliveries/delivery-engine.js';
import { DeliveryJournal } from './deliveries/delivery-journal.js';
import { DeliveryPacing } from './deliveries/delivery-pacing.js';
import { DeliveryTransports } from './deliveries/delivery-transports.js';
import { DestinationPace } from './deliveries/destination-pace.service.js';
import { FailedDeliveriesQuery } from './deliveries/failed-deliveries.query.js';
import { MailDepartures } from './deliveries/mail-departures.service.js';
import { MailLinkMaker } from './deliveries/mail-links.js';
import { MailSealing } from './deliveries/mail-sealing.service.js';
import { OptInComposer } from './deliveries/opt-in-composer.service.js';
import { OptInDeliveriesService } from './deliveries/opt-in-deliveries.service.js';
import { OptInPreparation } from './deliveries/opt-in-preparation.js';
import { MailErasureService } from './erasure/mail-erasure.service.js';
import { MailPersonalDataQuery } from './erasure/mail-personal-data.query.js';
import { ReportedDistrust } from './deliveries/reported-distrust.service.js';
import { ReturnedDeliveries } from './deliveries/returned-deliveries.service.js';
import { SlowedDestinations } from './deliveries/slowed-destinations.js';
import { WarmUpPace } from './deliveries/warm-up-pace.service.js';
import { TestDeliveriesService } from './deliveries/test-deliveries.service.js';
import { TestMailPreparation } from './deliveries/test-mail-preparation.js';
import { TestMailsService } from './deliveries/test-mails.service.js';
import { CampaignBreakdowns } from './campaign-reports/campaign-breakdowns.service.js';
import { CampaignOverviewQuery } from './campaign-reports/campaign-overview.query.js';
import { CampaignReportsService } from './campaign-reports/campaign-reports.service.js';
import { OpenAiCompatibleModel } from './campaign-reports/language-model/openai-compatible.model.js';
import { ReportDrafts } from './campaign-reports/report-draft.repository.js';
import { ReportFactsQuery } from './campaign-reports/report-facts.query.js';
import { loadReportLocale } from './campaign-reports/report-locales.js';
import { ReportLinks } from './campaign-reports/report-links.service.js';
import { REPORT_MODEL, ReportWritingService } from './campaign-reports/report-writing.service.js';
import { RequestDueBreakdowns } from './campaign-reports/request-due-breakdowns.task.js';
import { RequestDueReports } from './campaign-reports/request-due-reports.task.js';
import { MailPagesService, MailsOfLinks } from './mail-pages/mail-pages.service.js';
import { CampaignStatisticsQuery } from './reports/campaign-statistics.query.js';
import { RemoveOldExports } from './reports/remove-old-exports.task.js';
import { ReportExportMaker } from './reports/report-export-maker.js';
import { ReportExportsService } from './reports/report-exports.service.js';
import { DeliveriesExportMaker } from './reports/deliveries-export-maker.js';
import { StatisticsCheckQuery } from './reports/statistics-check.query.js';
import { TimelineQuery } from './reports/timeline.query.js';
import { GuardSenders } from './sending-guard/guard-senders.task.js';
import { GuardSending } from './sending-guard/guard-sending.task.js';
import { SendingStops } from './sending-guard/sending-stops.service.js';
import { TestInboxQuery } from './test-inbox/test-inbox.query.js';
import { TrimTestInboxes } from './test-inbox/trim-test-inboxes.task.js';
import { DeliveryFeedback } from './tracking/delivery-feedback.service.js';
import { LinkSetsModule } from './tracking/link-sets.module.js';
import { MailboxSimulator } from './tracking/mailbox-simulator.service.js';
import { MailAnnouncements } from './tracking/mail-announcements.service.js';
import { SimulatedMailbox } from './tracking/simulated-mailbox.service.js';
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
    ReturnPathsModule,
    SendersModule,
    ThrottlingModule,
  ],
  providers: [
    CampaignAnalysisService,
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
    ContentReview,
    DestinationOutlook,
    DeliveryActivityQuery,
    DeliveriesQuery,
    DeliveryFeedback,
    FailedDeliveriesQuery,
    MailAnnouncements,
    MailLinkMaker,
    MailPagesService,
    MailsOfLinks,
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
    MailLinkMaker,
    MailPagesService,
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

/** What only the worker has: the engine and what its jobs call. */
@Module({
  imports: [
    MessagingModule,
    AccessModule,
    AudienceModule,
    AutomationsModule,
    BillingModule,
    DeliverabilityModule,
    ReturnPathsModule,
    ThrottlingModule,
  ],
  providers: [
    {
      provide: MailMetrics,
      useFactory: (registry: Registry) => new MailMetrics(registry),
      inject: [Registry],
    },
    AutomationMailPreparation,
    CampaignClosingService,
    CampaignComposer,
    CampaignDepartures,
    CampaignDispatchService,
    {
      provide: REPORT_MODEL,
      inject: [CONFIG],
      useFactory: (config: Config) => reportModelOf(config),
    },
    CampaignExpansionService,
    CampaignFailureService,
    CampaignFinishQuery,
    CampaignPreparation,
    CampaignRetryDeliveriesService,
    CampaignScheduler,
    DeliveriesExportMaker,
    DeliveryClaimsQuery,
    DeliveryEngine,
    DeliveryJournal,
    DeliveryPacing,
    DeliverySources,
    DeliveryTransports,
    DestinationPace,
    EngineTools,
    MailDepartures,
    GuardSenders,
    GuardSending,
    MailErasureService,
    MailSealing,
    MailboxSimulator,
    OptInComposer,
    OptInDeliveriesService,
    OptInPreparation,
    RemoveOldExports,
    ReportDrafts,
    ReportedDistrust,
    ReportExportMaker,
    ReturnedDeliveries,
    ReportFactsQuery,
    ReportWritingService,
    RequestDueBreakdowns,
    RequestDueReports,
    ScheduledCampaignsQuery,
    ScheduledCampaignsService,
    SimulatedMailbox,
    SlowedDestinations,
    TestMailPreparation,
    TrimTestInboxes,
    WarmUpPace,
  ],
  exports: [
    CampaignClosingService,
    CampaignDispatchService,
    CampaignRetryDeliveriesService,
    CampaignScheduler,
    DeliveriesExportMaker,
    DeliveryEngine,
    GuardSenders,
    GuardSending,
    MailErasureService,
    MailboxSimulator,
    OptInDeliveriesService,
    RemoveOldExports,
    ReportedDistrust,
    ReportExportMaker,
    ReportWritingService,
    RequestDueBreakdowns,
    RequestDueReports,
    TrimTestInboxes,
  ],
})
export class MessagingWorkerModule {}

/** What mail holds about a person, for the operator. */
@Module({ providers: [MailPersonalDataQuery], exports: [MailPersonalDataQuery] })
export class MailPersonalDataModule {}

/** Refuses to start with a locale that there is no file for. */
function reportModelOf(config: Config): OpenAiCompatibleModel | null {
  loadReportLocale(config.AI_REPORT_LOCALE);
  if (config.AI_BASE_URL === undefined || config.AI_MODEL === undefined) return null;
  return new OpenAiCompatibleModel({
    baseUrl: config.AI_BASE_URL,
    apiKey: config.AI_API_KEY,
    model: config.AI_MODEL,
    timeoutMs: config.AI_TIMEOUT_MS,
  });
}
