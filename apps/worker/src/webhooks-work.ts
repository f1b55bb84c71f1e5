import { TrimWebhookEvents, WebhookSender } from '#webhooks';
import type { ContextWork } from './worker.js';

export const webhooksWork: ContextWork = {
  jobs: [],
  tasks: [TrimWebhookEvents],
  parts: [WebhookSender],
};
