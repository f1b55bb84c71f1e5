import { AutomationRunner, WebhookCaller } from '#messaging';
import type { ContextWork } from '../worker.js';

export const automationsWork: ContextWork = {
  jobs: [],
  tasks: [],
  parts: [AutomationRunner, WebhookCaller],
};
