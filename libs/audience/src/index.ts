export { AudienceModule } from './audience.module.js';
export { ConfirmationsQuery, type ConfirmationMail } from './consents/confirmations.query.js';
export {
  type ConfirmationDescription,
  ConfirmationsService,
  type ConfirmingPerson,
} from './consents/confirmations.service.js';
export { CONSENT_STATUSES, type ConsentStatus } from './consents/consent.js';
export { ConfirmationRequested } from './consents/consent.events.js';
export {
  type ConsentActor,
  type ConsentDetails,
  consentProof,
  type ConsentProof,
} from './consents/consent-proof.js';
export { type ConsentPreference, type ConsentPreferences, ConsentsQuery } from './consents/consents.query.js';
export { ConsentsService, type GrantedConsent } from './consents/consents.service.js';
export { ExpireConfirmations } from './consents/expire-confirmations.task.js';
export { type LeavingPerson, UnsubscribesService } from './consents/unsubscribes.service.js';
export { type Recipient, RecipientsQuery } from './subscribers/recipients.query.js';
export {
  type Subscriber,
  SUBSCRIBER_STATUSES,
  type SubscriberSource,
  type SubscriberStatus,
} from './subscribers/subscriber.js';
export { type SubscriberFilter, SubscribersQuery } from './subscribers/subscribers.query.js';
export {
  type NewSubscriberInput,
  type SubscriberPatch,
  SubscribersService,
} from './subscribers/subscribers.service.js';
export { UnsuppressUnconfirmedError } from './suppressions/suppression.errors.js';
export { type Suppression, SUPPRESSION_REASONS, type SuppressionReason } from './suppressions/suppression.js';
export {
  type SuppressionFilter,
  SuppressionsQuery,
  type SuppressionView,
} from './suppressions/suppressions.query.js';
export { SuppressionsService } from './suppressions/suppressions.service.js';
export {
  TOPIC_PRIORITIES,
  TOPIC_STATUSES,
  type Topic,
  type TopicPriority,
  type TopicStatus,
} from './topics/topic.js';
export { type NamedTopic, type TopicFilter, TopicsQuery, type TopicView } from './topics/topics.query.js';
export { type NewTopic, type TopicPatch, TopicsService } from './topics/topics.service.js';
