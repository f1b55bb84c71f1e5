export { EventLogQuery } from './event-log.query.js';
export { WebhookEndpointsService } from './webhook-endpoints.service.js';
export { type Replay, type WebhookLogRow, WebhookLogService } from './webhook-log.service.js';
export { WebhookPublisherService } from './webhook-publisher.service.js';
export { WebhookSender } from './webhook-sender.job.js';
export { webhookEntities } from './webhook-tables.js';
export { WebhooksModule, WebhooksWorkerModule } from './webhooks.module.js';
