import { Module } from '@nestjs/common';
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
import { RecipientsQuery } from './subscribers/recipients.query.js';
import { SubscriberRepository } from './subscribers/subscriber.repository.js';
import { SubscribersQuery } from './subscribers/subscribers.query.js';
import { SubscribersService } from './subscribers/subscribers.service.js';
import { SuppressionRepository } from './suppressions/suppression.repository.js';
import { SuppressionsQuery } from './suppressions/suppressions.query.js';
import { SuppressionsService } from './suppressions/suppressions.service.js';
import { TopicRepository } from './topics/topic.repository.js';
import { TopicsQuery } from './topics/topics.query.js';
import { TopicsService } from './topics/topics.service.js';

const door = [
  ConfirmationsQuery,
  ConfirmationsService,
  ConsentsQuery,
  ConsentsService,
  ExpireConfirmations,
  RecipientsQuery,
  SubscribersQuery,
  SubscribersService,
  SuppressionsQuery,
  SuppressionsService,
  TopicsQuery,
  TopicsService,
  UnsubscribesService,
];

/** Subscribers, topics, consents and suppressions of a project. Needs the PlatformModule. */
@Module({
  providers: [
    ...door,
    ConfirmationRepository,
    ConsentChanges,
    ConsentRepository,
    OptIns,
    SubscriberRepository,
    SuppressionRepository,
    TopicRepository,
  ],
  exports: door,
})
export class AudienceModule {}
