import { Module } from '@nestjs/common';
import { AudienceAnnouncements } from './announcements/audience-announcements.service.js';
import { AutomatedConsents } from './consents/automated-consents.service.js';
import { ConfirmationRepository } from './consents/confirmation.repository.js';
import { ConfirmationsQuery } from './consents/confirmations.query.js';
import { ConfirmationsService } from './consents/confirmations.service.js';
import { ConsentChanges } from './consents/consent-changes.service.js';
import { ConsentRepository } from './consents/consent.repository.js';
import { ConsentsQuery } from './consents/consents.query.js';
import { ConsentsService } from './consents/consents.service.js';
import { ExpireConfirmations } from './consents/expire-confirmations.task.js';
import { OptIns } from './consents/opt-ins.service.js';
import { UnsubscribesService } from './consents/unsubscribes.service.js';
import { CounterCheckService } from './counters/counter-check.service.js';
import { FoldCounters } from './counters/fold-counters.task.js';
import { CustomFieldRepository } from './custom-fields/custom-field.repository.js';
import { CustomFieldsQuery } from './custom-fields/custom-fields.query.js';
import { CustomFieldsService } from './custom-fields/custom-fields.service.js';
import { AddressDigests } from './erasure/address-digests.service.js';
import { ErasureRepository } from './erasure/erasure.repository.js';
import { ErasureService } from './erasure/erasure.service.js';
import { PersonalDataQuery } from './erasure/personal-data.query.js';
import { SubscriberEventsService } from './events/subscriber-events.service.js';
import { PreferencesQuery } from './preferences/preferences.query.js';
import { PreferencesService } from './preferences/preferences.service.js';
import { ImportChunks } from './imports/import-chunks.service.js';
import { ImportTermsService } from './imports/import-terms.service.js';
import { ImportRepository } from './imports/import.repository.js';
import { ImportRuns } from './imports/import-runs.service.js';
import { ImportedConsents } from './imports/imported-consents.repository.js';
import { ImportedNewcomers } from './imports/imported-newcomers.repository.js';
import { ImportedPeople } from './imports/imported-people.repository.js';
import { ImportedRows } from './imports/imported-rows.service.js';
import { ImportsQuery } from './imports/imports.query.js';
import { ImportsService } from './imports/imports.service.js';
import { RemoveOldImports } from './imports/remove-old-imports.task.js';
import { StagedRows } from './imports/staged-rows.repository.js';
import { ActivityCatalogue } from './segments/activity-catalogue.query.js';
import { EvaluateSegments } from './segments/evaluate-segments.task.js';
import { RuleCatalogueQuery } from './segments/rule-catalogue.query.js';
import { SegmentEvaluations } from './segments/segment-evaluations.service.js';
import { SegmentMembersQuery } from './segments/segment-members.query.js';
import { SegmentMembersService } from './segments/segment-members.service.js';
import { SegmentPredicates } from './segments/segment-predicates.service.js';
import { SegmentRepository } from './segments/segment.repository.js';
import { SegmentsQuery } from './segments/segments.query.js';
import { SegmentsService } from './segments/segments.service.js';
import { SubscriberRules } from './segments/subscriber-rules.service.js';
import { TrimSegmentHistory } from './segments/trim-segment-history.task.js';
import { Signals } from './signals/signals.service.js';
import { RecipientsQuery } from './subscribers/recipients.query.js';
import { Newcomers } from './subscribers/newcomers.repository.js';
import { SubscriberLimit } from './subscribers/subscriber-limit.service.js';
import { SubscriberRepository } from './subscribers/subscriber.repository.js';
import { LiveSubscribersQuery } from './subscribers/live-subscribers.query.js';
import { SubscribersQuery } from './subscribers/subscribers.query.js';
import { SubscribersService } from './subscribers/subscribers.service.js';
import { SuppressionRepository } from './suppressions/suppression.repository.js';
import { SuppressionsQuery } from './suppressions/suppressions.query.js';
import { SuppressionsService } from './suppressions/suppressions.service.js';
import { TopicDeletionService } from './topics/topic-deletion.service.js';
import { TopicRepository } from './topics/topic.repository.js';
import { TopicsQuery } from './topics/topics.query.js';
import { TopicsService } from './topics/topics.service.js';
import { UsageCatalogue } from './usage/usage-catalogue.js';

const door = [
  ActivityCatalogue,
  AddressDigests,
  AutomatedConsents,
  ConfirmationsQuery,
  ConfirmationsService,
  ConsentsQuery,
  ConsentsService,
  CounterCheckService,
  CustomFieldsQuery,
  CustomFieldsService,
  ErasureService,
  EvaluateSegments,
  ExpireConfirmations,
  FoldCounters,
  PersonalDataQuery,
  PreferencesQuery,
  PreferencesService,
  ImportRuns,
  ImportsQuery,
  ImportsService,
  RecipientsQuery,
  RemoveOldImports,
  SegmentEvaluations,
  SegmentMembersQuery,
  SegmentMembersService,
  SegmentsQuery,
  SegmentsService,
  Signals,
  SubscriberEventsService,
  SubscriberLimit,
  LiveSubscribersQuery,
  SubscriberRules,
  SubscribersQuery,
  SubscribersService,
  SuppressionsQuery,
  SuppressionsService,
  TopicDeletionService,
  TopicsQuery,
  TopicsService,
  TrimSegmentHistory,
  UnsubscribesService,
  UsageCatalogue,
];

/** Subscribers, topics, consents and suppressions of a project. Needs the PlatformModule. */
@Module({
  providers: [
    ...door,
    AudienceAnnouncements,
    ConfirmationRepository,
    ConsentChanges,
    ConsentRepository,
    CustomFieldRepository,
    ErasureRepository,
    ImportChunks,
    ImportTermsService,
    ImportRepository,
    ImportedConsents,
    ImportedNewcomers,
    ImportedPeople,
    ImportedRows,
    Newcomers,
    OptIns,
    RuleCatalogueQuery,
    SegmentPredicates,
    SegmentRepository,
    StagedRows,
    SubscriberRepository,
    SuppressionRepository,
    TopicRepository,
  ],
  exports: door,
})
export class AudienceModule {}
