import { AutomationRunner, WebhookCaller } from '#messaging';
import type { ContextWork } from '../context-work.js';

export const automationsWork: ContextWork = {
  jobs: [],
  events: [],
  tasks: [],
  parts: [AutomationRunner, WebhookCaller],
};
