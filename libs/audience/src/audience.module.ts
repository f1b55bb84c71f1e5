import { Module } from '@nestjs/common';
import { AddressChangesService } from './sign-up/address-changes.service.js';
import { ConsentsService } from './sign-up/consents.service.js';
import { ConsentRecordsQuery } from './sign-up/consent-records.query.js';
import { ConsentRepository } from './consents/consent.repository.js';
import { SignUpService } from './sign-up/sign-up.service.js';
import { UpsertService } from './sign-up/upsert.service.js';
import { ConfirmationsService } from './sign-up/confirmations.service.js';
import { CountersService } from './counters.service.js';
import { CustomFieldRepository, CustomFieldsQuery } from './custom-fields/custom-field.repository.js';
import { CustomFieldsService } from './custom-fields/custom-fields.service.js';
import { AddressDigestsService } from './suppressions/address-digests.service.js';
import { ErasedAddressesRepository } from './suppressions/erased-addresses.repository.js';
import { PersonalDataService } from './personal-data.service.js';
import { PreferencesService } from './sign-up/preferences.service.js';
import { UnsubscribeService } from './sign-up/unsubscribe.service.js';
import { UnsubscriptionRepository } from './consents/unsubscription.repository.js';
import { ImportRepository } from './imports/import.repository.js';
import { ImportRunsService } from './imports/import-runs.service.js';
import { ImportedSubscribersRepository } from './imports/imported-subscribers.repository.js';
import { ImportsQuery } from './imports/imports.query.js';
import { ImportsService } from './imports/imports.service.js';
import { StagedRowsRepository } from './imports/staged-rows.repository.js';
import { ActivityCatalogue, RuleCatalogueQuery } from './rules/rule-catalogue.query.js';
import { SegmentsService } from './segments/segments.service.js';
import { SegmentEvaluationsService } from './segments/segment-evaluations.service.js';
import { SegmentMembersService } from './segments/segment-members.service.js';
import { SubscriberRulesService } from './rules/subscriber-rules.service.js';
import { SegmentRepository } from './segments/segment.repository.js';
import { SegmentUsesQuery } from './segments/segment-uses.query.js';
import { SegmentsQuery } from './segments/segments.query.js';
import { ExportsQuery } from './exports.query.js';
import { TriggersService } from './triggers.service.js';
import { RecipientsQuery } from './recipients.query.js';
import { SubscriberLimitService } from './subscriber-limit.service.js';
import { FieldChangesService } from './subscribers/field-changes.service.js';
import { FieldUpdatesService } from './subscribers/field-updates.service.js';
import { SubscriberEventsService } from './subscribers/subscriber-events.service.js';
import { SubscriberRepository } from './subscribers/subscriber.repository.js';
import { SubscribersQuery } from './subscribers/subscribers.query.js';
import { SubscribersService } from './subscribers/subscribers.service.js';
import { SuppressionRepository } from './suppressions/suppression.repository.js';
import { SuppressionsService } from './suppressions/suppressions.service.js';
import { TopicsService } from './topics/topics.service.js';
import { TopicRepository } from './topics/topic.repository.js';
import { TopicsQuery } from './topics/topics.query.js';
import { UsageCatalogueService } from './usage-catalogue.service.js';
import { WaitsService } from './waits.service.js';

const exported = [
  ActivityCatalogue,
  AddressChangesService,
  AddressDigestsService,
  ConsentRecordsQuery,
  ConsentsService,
  ConfirmationsService,
  CountersService,
  CustomFieldsQuery,
  CustomFieldsService,
  ErasedAddressesRepository,
  ExportsQuery,
  FieldChangesService,
  FieldUpdatesService,
  PersonalDataService,
  PreferencesService,
  ImportRunsService,
  ImportsQuery,
  ImportsService,
  RecipientsQuery,
  SegmentsService,
  SegmentEvaluationsService,
  SegmentMembersService,
  SegmentsQuery,
  SignUpService,
  UpsertService,
  TriggersService,
  SubscriberEventsService,
  SubscriberLimitService,
  SubscriberRulesService,
  SubscribersQuery,
  SubscribersService,
  SuppressionsService,
  TopicsService,
  TopicsQuery,
  UnsubscribeService,
  UsageCatalogueService,
  WaitsService,
];

/** Subscribers, topics, consents and suppressions of a project. Needs the PlatformModule. */
@Module({
  providers: [
    ...exported,
    ConsentRepository,
    CustomFieldRepository,
    ImportRepository,
    ImportedSubscribersRepository,
    RuleCatalogueQuery,
    SegmentRepository,
    SegmentUsesQuery,
    StagedRowsRepository,
    SubscriberRepository,
    SuppressionRepository,
    TopicRepository,
    UnsubscriptionRepository,
  ],
  exports: exported,
})
export class AudienceModule {}
