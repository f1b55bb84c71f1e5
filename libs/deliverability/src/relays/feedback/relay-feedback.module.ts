import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { BouncesModule } from '../../bounces/bounces.module.js';
import { RelaysModule } from '../relays.module.js';
import { FeedbackDocuments } from './feedback-documents.service.js';
import { FeedbackEvents } from './feedback-events.service.js';
import { FeedbackMetrics } from './feedback-metrics.service.js';
import { FeedbackRelays } from './feedback-relays.query.js';
import { RelayFeedback } from './relay-feedback.service.js';

/** What providers post about mail that their relays took. */
@Module({
  imports: [AccessModule, BouncesModule, RelaysModule],
  providers: [FeedbackDocuments, FeedbackEvents, FeedbackMetrics, FeedbackRelays, RelayFeedback],
  exports: [FeedbackEvents, RelayFeedback],
})
export class RelayFeedbackModule {}
