import { TrimWebhookEvents, WebhookSender } from '#webhooks';
import type { ContextWork } from '../context-work.js';
import { EraseWebhookEvents } from './erase-webhook-events.job.js';

export const webhooksWork: ContextWork = {
  jobs: [EraseWebhookEvents],
  events: [],
  tasks: [TrimWebhookEvents],
  parts: [WebhookSender],
};
