import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule, ReturnPathsModule, ThrottlingModule } from '#deliverability';
import { type Config, CONFIG, MailMetrics } from '#platform';
import { AutomationMailPreparation } from './automations/automation-mail-preparation.js';
import { AutomationsModule } from './automations/automations.module.js';
import { CampaignFailureService } from './campaigns/campaign-failure.service.js';
import { CampaignScheduler } from './campaigns/campaign-scheduler.js';
import { ScheduledCampaignsQuery } from './campaigns/scheduled-campaigns.query.js';
import { ScheduledCampaignsService } from './campaigns/scheduled-campaigns.service.js';
import { CampaignClosingService } from './deliveries/campaign-closing.service.js';
import { CampaignComposer } from './deliveries/campaign-composer.service.js';
import { CampaignDepartures } from './deliveries/campaign-departures.service.js';
import { CampaignDispatchService } from './deliveries/campaign-dispatch.service.js';
import { CampaignExpansionService } from './deliveries/campaign-expansion.service.js';
import { CampaignFinishQuery } from './deliveries/campaign-finish.query.js';
import { CampaignPreparation } from './deliveries/campaign-preparation.js';
import { CampaignRetryDeliveriesService } from './deliveries/campaign-retry-deliveries.service.js';
import { DeliveryClaimsQuery } from './deliveries/delivery-claims.query.js';
import { DeliveryEngine, DeliverySources, EngineTools } from './deliveries/delivery-engine.js';
import { DeliveryJournal } from './deliveries/delivery-journal.js';
import { DeliveryPacing } from './deliveries/delivery-pacing.js';
import { DeliveryTransports } from './deliveries/delivery-transports.js';
import { DestinationPace } from './deliveries/destination-pace.service.js';
import { MailDepartures } from './deliveries/mail-departures.service.js';
import { MailSealing } from './deliveries/mail-sealing.service.js';
import { OptInComposer } from './deliveries/opt-in-composer.service.js';
import { OptInDeliveriesService } from './deliveries/opt-in-deliveries.service.js';
import { OptInPreparation } from './deliveries/opt-in-preparation.js';
import { MailErasureService } from './erasure/mail-erasure.service.js';
import { ReportedDistrust } from './deliveries/reported-distrust.service.js';
import { ReturnedDeliveries } from './deliveries/returned-deliveries.service.js';
import { SlowedDestinations } from './deliveries/slowed-destinations.js';
import { WarmUpPace } from './deliveries/warm-up-pace.service.js';
import { TestMailPreparation } from './deliveries/test-mail-preparation.js';
import { OpenAiCompatibleModel } from './campaign-reports/language-model/openai-compatible.model.js';
import { ReportDrafts } from './campaign-reports/report-draft.repository.js';
import { ReportFactsQuery } from './campaign-reports/report-facts.query.js';
import { loadReportLocale } from './campaign-reports/report-locales.js';
import { REPORT_MODEL, ReportWritingService } from './campaign-reports/report-writing.service.js';
import { RequestDueBreakdowns } from './campaign-reports/request-due-breakdowns.task.js';
import { RequestDueReports } from './campaign-reports/request-due-reports.task.js';
import { RemoveOldExports } from './reports/remove-old-exports.task.js';
import { ReportExportMaker } from './reports/report-export-maker.js';
import { DeliveriesExportMaker } from './reports/deliveries-export-maker.js';
import { GuardSenders } from './sending-guard/guard-senders.task.js';
import { GuardSending } from './sending-guard/guard-sending.task.js';
import { TrimTestInboxes } from './test-inbox/trim-test-inboxes.task.js';
import { MailboxSimulator } from './tracking/mailbox-simulator.service.js';
import { SimulatedMailbox } from './tracking/simulated-mailbox.service.js';
import { MessagingModule } from './messaging.module.js';

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
