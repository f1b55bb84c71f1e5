import { AutomationRunner, WebhookCaller } from '#messaging';
import type { ContextWork } from '../worker.js';

export const automationsWork: ContextWork = {
  jobs: [],
  events: [],
  tasks: [],
  parts: [AutomationRunner, WebhookCaller],
};
