import { Module } from '@nestjs/common';
import { WebhooksModule } from '#webhooks';
import { EventsController } from './events.controller.js';
import { WebhookEndpointsController } from './webhook-endpoints.controller.js';

/** Webhooks over HTTP. */
@Module({ imports: [WebhooksModule], controllers: [EventsController, WebhookEndpointsController] })
export class WebhooksApiModule {}
