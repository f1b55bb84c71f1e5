import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule, RelaysModule, ReturnPathsModule, ThrottlingModule } from '#deliverability';
import { type Config, CONFIG, MailMetrics, RetiredTablesService } from '#platform';
import { AutomationMailPreparation } from './sending/preparation/automation-mail-preparation.service.js';
import { AutomationsModule } from './automations/automations.module.js';
import { CampaignScheduler } from './campaigns/campaign-scheduler.service.js';
import { CampaignClosingService } from './sending/engine/campaign-closing.service.js';
import { CampaignExpansionService } from './sending/queueing/campaign-expansion.service.js';
import { CampaignPreparation } from './sending/preparation/campaign-preparation.service.js';
import { DeliveryClaimsQuery } from './sending/engine/delivery-claims.query.js';
import { DeliveryEngine } from './sending/engine/delivery-engine.service.js';
import { DeliverySenderFactory } from './sending/engine/delivery-sender-factory.service.js';
import { DeliverySources } from './sending/engine/delivery-sources.service.js';
import { InstallationSenders } from './sending/engine/installation-senders.service.js';
import { OwnRelaySenders } from './sending/engine/own-relay-senders.service.js';
import { RelaysInUse } from './sending/own-relays/relays-in-use.service.js';
import { DeliveryJournal } from './sending/engine/delivery-journal.service.js';
import { DeliveryPacing } from './sending/pacing/delivery-pacing.service.js';
import { DeliveryTransports } from './sending/transports/delivery-transports.service.js';
import { DestinationPace } from './sending/pacing/destination-pace.service.js';
import { MailBatches } from './sending/preparation/mail-batches.service.js';
import { SendingPolicies } from './sending/mails/sending-policies.service.js';
import { MailSigning } from './sending/mails/mail-signing.service.js';
import { OptInComposer } from './sending/mails/opt-in-composer.service.js';
import { OptInDeliveriesService } from './sending/queueing/opt-in-deliveries.service.js';
import { SingleMailPreparation } from './sending/preparation/single-mail-preparation.service.js';
import { SinglesPreparation } from './sending/preparation/singles-preparation.service.js';
import { ProjectRetentionRepository } from './project-retention.repository.js';
import { ApplyRetention, RetentionRunner } from './retention.job.js';
import { RemoveErasedMails } from './deliveries/erased-mails.query.js';
import { MailErasureService } from './mail-personal-data.service.js';
import { ReportedDistrust } from './sending/pacing/reported-distrust.service.js';
import { ReturnedDeliveries } from './sending/engine/returned-deliveries.service.js';
import { SlowedDestinations } from './sending/pacing/slowed-destinations.service.js';
import { WarmUpPace } from './sending/pacing/warm-up-pace.service.js';
import { TestMailComposer } from './sending/mails/test-mail-composer.service.js';
import { OpenAiCompatibleModel } from './reports/language-model/openai-compatible.model.js';
import { ReportDrafts } from './reports/writing/report-draft.repository.js';
import { ReportFactsQuery } from './reports/writing/report-facts.query.js';
import { loadReportLocale } from './reports/writing/report-locales.query.js';
import { REPORT_MODEL, ReportWritingService } from './reports/writing/report-writing.service.js';
import { RequestDueBreakdowns } from './reports/breakdowns/request-due-breakdowns.task.js';
import { RequestDueReports } from './reports/writing/request-due-reports.task.js';
import { RemoveOldExports } from './reports/exports/remove-old-exports.task.js';
import { ReportExportRepository } from './reports/exports/report-export.repository.js';
import { ReportExportMaker } from './reports/exports/report-export-maker.service.js';
import { DeliveriesExportMaker } from './reports/exports/deliveries-export-maker.service.js';
import { GuardSenders } from './sending/guard/guard-senders.task.js';
import { GuardSending } from './sending/guard/guard-sending.task.js';
import { TrimTestInboxes } from './sending/test-inbox/trim-test-inboxes.task.js';
import { MailboxSimulator } from './mailbox-simulator/mailbox-simulator.service.js';
import { SimulatedAnswers } from './mailbox-simulator/simulated-answers.service.js';
import { SimulatedReader } from './mailbox-simulator/simulated-reader.service.js';
import { MessagingModule } from './messaging.module.js';

const SERVICES = [
  ApplyRetention,
  AutomationMailPreparation,
  CampaignClosingService,
  CampaignExpansionService,
  CampaignPreparation,
  CampaignScheduler,
  DeliveriesExportMaker,
  DeliveryClaimsQuery,
  DeliveryEngine,
  DeliveryJournal,
  DeliveryPacing,
  DeliverySenderFactory,
  DeliverySources,
  DeliveryTransports,
  DestinationPace,
  GuardSenders,
  GuardSending,
  InstallationSenders,
  MailBatches,
  MailErasureService,
  MailSigning,
  MailboxSimulator,
  OptInComposer,
  OptInDeliveriesService,
  OwnRelaySenders,
  ProjectRetentionRepository,
  RelaysInUse,
  RemoveErasedMails,
  RemoveOldExports,
  ReportDrafts,
  ReportExportMaker,
  ReportExportRepository,
  ReportFactsQuery,
  ReportWritingService,
  ReportedDistrust,
  RequestDueBreakdowns,
  RequestDueReports,
  RetentionRunner,
  RetiredTablesService,
  ReturnedDeliveries,
  SendingPolicies,
  SimulatedAnswers,
  SimulatedReader,
  SingleMailPreparation,
  SinglesPreparation,
  SlowedDestinations,
  TestMailComposer,
  TrimTestInboxes,
  WarmUpPace,
];

/** For the worker only: the engine, and the services that its jobs call. */
@Module({
  imports: [
    MessagingModule,
    AccessModule,
    AudienceModule,
    AutomationsModule,
    BillingModule,
    DeliverabilityModule,
    RelaysModule,
    ReturnPathsModule,
    ThrottlingModule,
  ],
  providers: [
    {
      provide: MailMetrics,
      useFactory: (registry: Registry) => new MailMetrics(registry),
      inject: [Registry],
    },
    {
      provide: REPORT_MODEL,
      inject: [CONFIG],
      useFactory: (config: Config) => reportModelOf(config),
    },
    ...SERVICES,
  ],
  exports: SERVICES,
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
