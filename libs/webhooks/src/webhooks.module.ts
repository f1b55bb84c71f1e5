import { Module } from '@nestjs/common';
import { EventLogQuery } from './event-log.query.js';
import { WebhookDeliveryRepository } from './webhook-delivery.repository.js';
import { WebhookEndpointsService } from './webhook-endpoints.service.js';
import { WebhookLogService } from './webhook-log.service.js';
import { WebhookSender } from './webhook-sender.job.js';

const SERVICES = [EventLogQuery, WebhookEndpointsService, WebhookLogService];
const WORK = [WebhookSender];

/** Endpoints, what is posted to them, and the log of events. */
@Module({ providers: SERVICES, exports: SERVICES })
export class WebhooksModule {}

/** Worker-only providers: deliver webhooks. */
@Module({
  imports: [WebhooksModule],
  providers: [WebhookDeliveryRepository, ...WORK],
  exports: [WebhooksModule, ...WORK],
})
export class WebhooksWorkerModule {}
