import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule, ReturnPathsModule } from '#deliverability';
import { MailMetrics, RetiredTablesService } from '#platform';
import { AutomationsModule } from './automations/automations.module.js';
import { CampaignSchedulerService } from './campaigns/campaign-scheduler.service.js';
import { CampaignClosingService } from './sending/engine/campaign-closing.service.js';
import { CampaignExpansionService } from './sending/engine/campaign-expansion.service.js';
import { DeliveryClaimsQuery } from './sending/engine/delivery-claims.query.js';
import { DeliverySourcesService } from './sending/engine/delivery-sources.service.js';
import { OwnRelaySendersService } from './sending/engine/own-relay-senders.service.js';
import { ProjectRetentionRepository } from './project-retention.repository.js';
import { ApplyRetention, RetentionRunner } from './retention.job.js';
import { ReportsWorkerModule } from './reports/reports.module.js';
import { PersonalDataModule, MessagingModule } from './messaging.module.js';
import { DeliveryEngineService } from './sending/engine/delivery-engine.service.js';
import { DeliverySenderFactory } from './sending/engine/delivery-sender.service.js';
import { DeliveryStoreRepository } from './sending/engine/delivery-store.repository.js';
import { DeliveryPacingService, SlowedDestinations } from './sending/delivery-pacing.service.js';
import { MailPreparationService } from './sending/mails/mail-preparation.service.js';
import { MailBatchesService } from './sending/mails/mail-batches.service.js';
import { MailSigningService } from './sending/mails/mail-signing.service.js';
import { MessageMailsService } from './sending/mails/message-mails.service.js';
import { OptInMailsService } from './sending/mails/opt-in-mails.service.js';
import { MailboxSimulatorService } from './sending/mailbox-simulator.service.js';
import { SendingGuardService } from './sending/sending-guard.service.js';
import { RelaysInUseService } from './sending/engine/relays-in-use.service.js';

const SERVICES = [
  ApplyRetention,
  CampaignClosingService,
  CampaignExpansionService,
  CampaignSchedulerService,
  DeliveryClaimsQuery,
  DeliveryEngineService,
  DeliveryPacingService,
  DeliverySenderFactory,
  DeliverySourcesService,
  DeliveryStoreRepository,
  SendingGuardService,
  MailBatchesService,
  MailPreparationService,
  MailSigningService,
  MailboxSimulatorService,
  MessageMailsService,
  OptInMailsService,
  OwnRelaySendersService,
  ProjectRetentionRepository,
  RelaysInUseService,
  RetentionRunner,
  RetiredTablesService,
  SlowedDestinations,
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
    PersonalDataModule,
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
  exports: [...SERVICES, PersonalDataModule, ReportsWorkerModule],
})
export class MessagingWorkerModule {}
