export { AudienceModule } from './audience.module.js';
export { audienceEntities, type AudienceTables, type AwaitedTrigger } from './audience-tables.js';
export {
  type ConsentOutcomes,
  type ConsentPreference,
  type ConsentPreferences,
  ConsentsService,
  type GrantedConsent,
} from './sign-up/consents.service.js';
export {
  type ConfirmationDescription,
  type ConfirmationMail,
  ConfirmationsService,
  type ConfirmingPerson,
} from './sign-up/confirmations.service.js';
export {
  CONFIRMATION_VALID_MS,
  CONSENT_ACTORS,
  CONSENT_STATUSES,
  type AddressProof,
  type ConsentActor,
  type ConsentDetails,
  consentProof,
  type ConsentProof,
  type ConsentStatus,
  NotSubscribedError,
  SUBSCRIBER_STATUSES,
  type SubscriberStatus,
  SUPPRESSION_REASONS,
  type SuppressionReason,
} from './consents/consent.js';
export { confirmationRecipients, OptInMails, type StoredConsent } from './consents/consent.repository.js';
export { type CounterCheck, CountersService } from './counters.service.js';
export {
  CUSTOM_FIELD_STATUSES,
  CUSTOM_FIELD_TYPES,
  type CustomFieldType,
  type CustomFieldView,
} from './custom-fields/custom-field.js';
export { templateDefaults } from './custom-fields/custom-field-values.js';
export { CustomFieldsQuery } from './custom-fields/custom-field.repository.js';
export { CustomFieldsService } from './custom-fields/custom-fields.service.js';
export { AddressDigestsService } from './suppressions/address-digests.service.js';
export {
  ERASED_MAILS_KEPT_DAYS,
  ErasedAddressesRepository,
} from './suppressions/erased-addresses.repository.js';
export type { OwnedAddress } from './subscribers/subscriber.repository.js';
export {
  type AudiencePersonalData,
  finishErasure,
  PersonalDataService,
  type RowPages,
} from './personal-data.service.js';
export {
  type PageReader,
  PAUSE_DAYS,
  type PauseDays,
  type Preferences,
  PreferencesService,
  type TopicPreference,
} from './sign-up/preferences.service.js';
export { UnsubscribeService } from './sign-up/unsubscribe.service.js';
export { UnsubscriptionRepository } from './consents/unsubscription.repository.js';
export {
  IMPORT_CONFLICTS,
  IMPORT_STATUSES,
  type ImportCounts,
  type ImportError,
  type ImportView,
} from './imports/import.js';
export { type ImportContent, isCharset } from './imports/import-content.js';
export { ImportsQuery } from './imports/imports.query.js';
export { type ImportOptions, ImportsService } from './imports/imports.service.js';
export { ActivityCatalogue, type MailActivitySource } from './rules/rule-catalogue.query.js';
export { SegmentEvaluationsService } from './segments/segment-evaluations.service.js';
export { SEGMENT_STATUSES, SEGMENT_TYPES } from './segments/segment.js';
export { SegmentsService } from './segments/segments.service.js';
export {
  type SegmentMember,
  SegmentMembersService,
  type SegmentPreview,
} from './segments/segment-members.service.js';
export { after as durationAfter, parseDuration } from './rules/rule-dates.js';
export { propertyTestsOf } from './rules/event-properties.js';
export type { MailActivity, MailFilter, PropertyTest, RuleDuration } from './rules/rule.js';
export { type ExportSource, ExportsQuery, plainSource } from './exports.query.js';
export { SegmentsQuery, type SegmentView } from './segments/segments.query.js';
export { SubscriberRulesService } from './rules/subscriber-rules.service.js';
export { TriggersService, TRIGGERS_CHANNEL } from './triggers.service.js';
export { type Awaited, type Waiter, WaitsService } from './waits.service.js';
export type { AudienceBreakdown, AudienceSurvey } from './audience-breakdown.query.js';
export {
  type AudienceChunk,
  type ChosenAudience,
  type Recipient,
  RecipientsQuery,
} from './recipients.query.js';
export {
  externalIdFault,
  MAX_EXTERNAL_ID,
  normalizedName,
  parseSubscriberRef,
  type SubscriberPatch,
  type SubscriberRef,
  type SubscriberSource,
  type SubscriberView,
} from './subscribers/subscriber.js';
export { AudiencePortsModule } from './audience-ports.module.js';
export { type ActivitySource, subscriberActivity } from './subscriber-activity.query.js';
export { SubscriberLimitService } from './subscriber-limit.service.js';
export { type SubscriberFilter, SubscribersQuery } from './subscribers/subscribers.query.js';
export { ConsentRecordsQuery } from './sign-up/consent-records.query.js';
export { type NewSubscriberInput, SignUpService } from './sign-up/sign-up.service.js';
export { AddressChangesService } from './sign-up/address-changes.service.js';
export { UpsertService } from './sign-up/upsert.service.js';
export {
  type BatchedEvent,
  type RecordedBatch,
  type ReportedEvent,
  SubscriberEventsService,
} from './subscribers/subscriber-events.service.js';
export { SubscribersService } from './subscribers/subscribers.service.js';
export { changeableField } from './subscribers/subscriber-fields.js';
export { type ChangedBy, FieldChangesService } from './subscribers/field-changes.service.js';
export { FieldUpdatesService } from './subscribers/field-updates.service.js';
export {
  type MailStream,
  SUPPRESSED_STREAMS,
  SuppressedError,
  type SuppressedStreams,
  type SuppressionDetails,
  UnsuppressUnconfirmedError,
} from './suppressions/suppression.js';
export {
  type FailureCause,
  type SuppressionFilter,
  SuppressionsService,
  type SuppressionView,
} from './suppressions/suppressions.service.js';
export {
  type NewTopic,
  TOPIC_PRIORITIES,
  TOPIC_STATUSES,
  TOPIC_VISIBILITIES,
  grantFault,
  topicIn,
  topicNamesIn,
  type TopicPatch,
  type TopicPriority,
  type TopicStatus,
  type TopicTexts,
} from './topics/topic.js';
export { type NamedTopic, type TopicFilter, TopicsQuery, type TopicView } from './topics/topics.query.js';
export { TopicsService } from './topics/topics.service.js';
export { namedInRules } from './rules/rule-reader.js';
export {
  UsageCatalogueService,
  type Use,
  type UsedThings,
  type UserSource,
} from './usage-catalogue.service.js';
