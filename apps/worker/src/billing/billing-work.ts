import { AdvanceSubscriptions } from '#billing';
import type { ContextWork } from '../context-work.js';

export const billingWork: ContextWork = {
  jobs: [],
  events: [],
  tasks: [AdvanceSubscriptions],
  parts: [],
};
