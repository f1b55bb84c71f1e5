import { Module } from '@nestjs/common';
import { AudienceModule } from '#audience';
import {
  ConsentRecordsController,
  ConsentsController,
  RevocationsController,
} from './consents.controller.js';
import { CustomFieldsController } from './custom-fields.controller.js';
import { EventBatchesController, EventsController } from './subscriber-events.controller.js';
import { SubscribersController } from './subscribers.controller.js';
import { ImportsController, SuppressionImportsController } from './imports.controller.js';
import { SegmentsController } from './segments.controller.js';
import { SuppressionsController } from './suppressions.controller.js';
import { TopicsController } from './topics.controller.js';

/** Topics, subscribers, consents and suppressions over HTTP. */
@Module({
  imports: [AudienceModule],
  controllers: [
    TopicsController,
    SubscribersController,
    ImportsController,
    SuppressionImportsController,
    EventsController,
    EventBatchesController,
    ConsentsController,
    ConsentRecordsController,
    RevocationsController,
    CustomFieldsController,
    SegmentsController,
    SuppressionsController,
  ],
})
export class AudienceApiModule {}
