import { Module } from '@nestjs/common';
import { WebhooksModule } from '#webhooks';
import { EventsController } from './events.controller.js';

/** Webhooks over HTTP. */
@Module({ imports: [WebhooksModule], controllers: [EventsController] })
export class WebhooksApiModule {}
