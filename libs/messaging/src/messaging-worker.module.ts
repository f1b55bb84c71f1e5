import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule, ReturnPathsModule } from '#deliverability';
import { MailMetrics, RetiredTablesService } from '#platform';
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
import { ReportsWorkerModule } from './reports/reports.module.js';
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
  ReportedDistrust,
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
    ReportsWorkerModule,
    ReturnPathsModule,
  ],
  providers: [
    {
      provide: MailMetrics,
      useFactory: (registry: Registry) => new MailMetrics(registry),
      inject: [Registry],
    },
    ...SERVICES,
  ],
  exports: [...SERVICES, ReportsWorkerModule],
})
export class MessagingWorkerModule {}
