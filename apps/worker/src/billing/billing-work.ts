import { AdvanceSubscriptions, ApplyStripeEvents } from '#billing';
import type { ContextWork } from '../context-work.js';

export const billingWork: ContextWork = {
  jobs: [],
  events: [],
  tasks: [AdvanceSubscriptions, ApplyStripeEvents],
  parts: [],
};
