export { Mailwright } from './client.js';
export {
  MailwrightConnectionError,
  MailwrightError,
  type Problem,
  PROBLEM_SLUGS,
  type ProblemMembers,
  type ProblemSlug,
} from './errors.js';
export type { Answer, Body, Item, OperationId, Query, Schemas } from './operations.js';
export { List, type PageOf, type PagePlace } from './pages.js';
export type { CallOptions, ListOptions, MailwrightOptions, ReadOptions } from './transport.js';
export {
  verifyWebhook,
  type WebhookEvent,
  type WebhookEventType,
  type WebhookToVerify,
  WebhookVerificationError,
} from './webhooks.js';
