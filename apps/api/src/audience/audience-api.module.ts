import { Module } from '@nestjs/common';
import { AudienceModule } from '#audience';
import { ConsentsController } from './consents.controller.js';
import { SubscribersController } from './subscribers.controller.js';
import { SuppressionsController } from './suppressions.controller.js';
import { TopicsController } from './topics.controller.js';

/** Topics, subscribers, consents and suppressions over HTTP. */
@Module({
  imports: [AudienceModule],
  controllers: [TopicsController, SubscribersController, ConsentsController, SuppressionsController],
})
export class AudienceApiModule {}
