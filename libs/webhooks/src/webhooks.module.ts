import { Module } from '@nestjs/common';
import { WebhookClient } from './deliveries/webhook-client.service.js';
import { WebhookDeliveriesQuery } from './deliveries/webhook-deliveries.query.js';
import { WebhookLog } from './deliveries/webhook-log.query.js';
import { WebhookSender } from './deliveries/webhook-sender.service.js';
import { EndpointRepository } from './endpoints/endpoint.repository.js';
import { SealedWebhookSecrets } from './endpoints/sealed-webhook-secrets.query.js';
import { WebhookEndpoints } from './endpoints/webhook-endpoints.service.js';
import { TrimWebhookEvents } from './events/trim-webhook-events.task.js';
import { WebhookPersonalData } from './events/webhook-personal-data.query.js';

const services = [SealedWebhookSecrets, WebhookEndpoints, WebhookLog, WebhookPersonalData];

/** For the operator: endpoints and their log. */
@Module({ providers: [...services, EndpointRepository], exports: services })
export class WebhooksModule {}

/** What only the worker has: it tells. */
@Module({
  imports: [WebhooksModule],
  providers: [TrimWebhookEvents, WebhookClient, WebhookDeliveriesQuery, WebhookSender],
  exports: [TrimWebhookEvents, WebhooksModule, WebhookSender],
})
export class WebhooksWorkerModule {}
