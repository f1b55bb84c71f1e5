export { ENDPOINT_STATUSES, EVENT_PATTERNS, type EventPattern, eventsFault, urlFault } from './endpoint.js';
export { EventLogQuery } from './event-log.query.js';
export { WebhookEndpointsService } from './webhook-endpoints.service.js';
export { DELIVERY_STATES, type WebhookDelivery, WebhookLogService } from './webhook-log.service.js';
export { WebhookPublisherService } from './webhook-publisher.service.js';
export { WebhookSender } from './webhook-sender.job.js';
export { webhookEntities } from './webhook-tables.js';
export { WebhooksModule, WebhooksWorkerModule } from './webhooks.module.js';
