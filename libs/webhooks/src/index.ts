export { type Replay, WebhookLog, type WebhookLogRow } from './deliveries/webhook-log.query.js';
export { WebhookSender } from './deliveries/webhook-sender.service.js';
export { SealedWebhookSecrets } from './endpoints/sealed-webhook-secrets.query.js';
export { WebhookEndpoints } from './endpoints/webhook-endpoints.service.js';
export { TrimWebhookEvents } from './events/trim-webhook-events.task.js';
export { WebhookPublisher } from './events/webhook-publisher.service.js';
export { WebhookPersonalData } from './events/webhook-personal-data.query.js';
export { webhookEntities } from './webhook-tables.js';
export { WebhooksModule, WebhooksWorkerModule } from './webhooks.module.js';
