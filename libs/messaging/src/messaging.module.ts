import { Global, Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { BounceRecorder, DeliverabilityModule, ReturnPathsModule } from '#deliverability';
import { WebhooksModule } from '#webhooks';
import { AutomationsModule } from './automations/automations.module.js';
import { PreSendAnalysisService } from './campaigns/pre-send-analysis.service.js';
import { CampaignAudienceQuery } from './campaigns/campaign-audience.query.js';
import { CampaignContentsQuery } from './campaigns/campaign-contents.query.js';
import { CampaignLifecycleService } from './campaigns/campaign-lifecycle.service.js';
import { CampaignRepository } from './campaigns/campaign.repository.js';
import { CampaignUsageQuery } from './campaigns/campaign-usage.query.js';
import { CampaignsService } from './campaigns/campaigns.service.js';
import { FromAddressesModule } from './campaigns/from-addresses.service.js';
import { DeliveryActivityQuery } from './engagement/delivery-activity.query.js';
import { DeliveriesQuery } from './sending/deliveries.query.js';
import { FailedDeliveriesService } from './campaigns/failed-deliveries.service.js';
import { MailRenderingService } from './sending/mails/mail-rendering.service.js';
import { ContentModule } from './content/content.module.js';
import { MailPersonalDataService } from './mail-personal-data.service.js';
import { PersonActivityQuery } from './person-activity.query.js';
import { PersonExportService } from './person-export.service.js';
import { LinkedMailsService } from './deliveries/linked-mails.service.js';
import { MailPagesService } from './engagement/mail-pages.service.js';
import { MediaFilesService } from './media/media-files.service.js';
import { MediaService } from './media/media.service.js';
import { MessageTemplatesService } from './messages/message-templates.service.js';
import { MessageSealsModule } from './messages/message-seals.service.js';
import { MessageEventsQuery } from './messages/message-events.query.js';
import { MessagesQuery } from './messages/messages.query.js';
import { MessageAttachmentsService } from './messages/message-attachments.service.js';
import { MessageAcceptanceService } from './messages/message-acceptance.service.js';
import { MessageChecksService } from './messages/message-checks.service.js';
import { MessagesService } from './messages/messages.service.js';
import { ReportsModule } from './reports/reports.module.js';
import { SendingStopsService } from './campaigns/sending-stops.service.js';
import { AddressConsequencesService } from './engagement/address-consequences.service.js';
import { DeliveryFeedbackService } from './engagement/delivery-feedback.service.js';
import { LinkSetsService } from './engagement/link-sets.service.js';
import { MessageLooksService } from './engagement/message-looks.service.js';
import { MailPublisherService } from './engagement/mail-publisher.service.js';
import { MessageOutcomesService } from './engagement/message-outcomes.service.js';
import { TrackedEventsService } from './engagement/tracked-events.service.js';
import { TrackingService } from './engagement/tracking.service.js';
import { CompiledMailsService } from './sending/mails/compiled-mails.service.js';
import { MailViewService } from './sending/mails/mail-view.service.js';
import { MessageRenderingService } from './sending/mails/message-rendering.service.js';
import { PreviewLinksService } from './sending/mails/preview-links.service.js';
import { TemplatePreviewsService } from './sending/mails/template-previews.service.js';
import { VariantTestsService } from './campaigns/variant-tests.service.js';
import { TestMailsService } from './sending/mails/test-mails.service.js';
import { TemplatesModule } from './templates/templates.module.js';
import { TestInboxService } from './sending/test-inbox.service.js';

const SERVICES = [
  AddressConsequencesService,
  CampaignAudienceQuery,
  CampaignContentsQuery,
  CampaignLifecycleService,
  CampaignRepository,
  CampaignUsageQuery,
  CampaignsService,
  CompiledMailsService,
  DeliveriesQuery,
  DeliveryActivityQuery,
  DeliveryFeedbackService,
  FailedDeliveriesService,
  LinkSetsService,
  MessageLooksService,
  LinkedMailsService,
  MailPagesService,
  MailPublisherService,
  MessageEventsQuery,
  MessageRenderingService,
  MessageOutcomesService,
  MailRenderingService,
  MailViewService,
  MediaFilesService,
  MediaService,
  MessageAttachmentsService,
  MessageTemplatesService,
  MessagesQuery,
  MessageAcceptanceService,
  MessageChecksService,
  MessagesService,
  PreSendAnalysisService,
  PreviewLinksService,
  SendingStopsService,
  TemplatePreviewsService,
  TestInboxService,
  TestMailsService,
  TrackedEventsService,
  TrackingService,
  VariantTestsService,
];

/** For API and worker: writing campaigns, their reports, the test inbox, the pages behind mails' links. */
@Module({
  imports: [
    AccessModule,
    AudienceModule,
    AutomationsModule,
    BillingModule,
    ContentModule,
    DeliverabilityModule,
    ReportsModule,
    ReturnPathsModule,
    FromAddressesModule,
    MessageSealsModule,
    TemplatesModule,
  ],
  providers: SERVICES,
  exports: [
    ContentModule,
    ReportsModule,
    FromAddressesModule,
    MessageSealsModule,
    TemplatesModule,
    ...SERVICES,
  ],
})
export class MessagingModule {}

/** Lets reports on bounces be recorded at once. */
@Global()
@Module({
  imports: [MessagingModule],
  providers: [{ provide: BounceRecorder, useExisting: DeliveryFeedbackService }],
  exports: [BounceRecorder],
})
export class BounceRecordingModule {}

/** The data that is held about a person, to be listed, exported and erased. */
@Module({
  imports: [AudienceModule, WebhooksModule],
  providers: [MailPersonalDataService, PersonActivityQuery, PersonExportService],
  exports: [MailPersonalDataService, PersonActivityQuery, PersonExportService],
})
export class PersonalDataModule {}
