import type { z } from 'zod';
import type {
  createEndpointBody,
  deliveryView,
  endpointTestView,
  endpointView,
  endpointWithSecret,
  replayBody,
  replayView,
  rotateSecretBody,
  updateEndpointBody,
} from '../../webhooks/webhook-endpoints.dto.js';
import { onePage, type WrittenExamples } from './written-example.js';

export const ENDPOINT_ID = '019bb6c3-2140-7a4c-9b1e-5d3f7a9c1e42';
export const DELIVERY_ID = '019cad8f-bc18-7c6e-9d30-7f5b9c1e3a64';

const NEW = {
  url: 'https://shop.example/hooks/mailwright',
  events: ['email.*', 'consent.confirmed'],
  description: 'The shop',
} satisfies z.input<typeof createEndpointBody>;

const CREATED = {
  id: ENDPOINT_ID,
  url: NEW.url,
  events: ['email.*', 'consent.confirmed'],
  description: NEW.description,
  status: 'ENABLED',
  disabledReason: null,
  previousSecretUntil: null,
  createdAt: '2026-01-13T09:50:00.000Z',
  updatedAt: '2026-01-13T09:50:00.000Z',
  secret: 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlIHRoYXQgc2lnbnM=',
} satisfies z.output<typeof endpointWithSecret>;

const { secret: _shownOnce, ...SHOWN } = CREATED;

const CHANGE = { events: ['email.bounced', 'email.complained'] } satisfies z.input<typeof updateEndpointBody>;
const CHANGED = {
  ...SHOWN,
  events: ['email.bounced', 'email.complained'],
  updatedAt: '2026-01-13T10:00:00.000Z',
} satisfies z.output<typeof endpointView>;

const ROTATION = { overlapHours: 24 } satisfies z.input<typeof rotateSecretBody>;
const ROTATED = {
  ...CREATED,
  secret: 'whsec_YW5vdGhlciBzZWNyZXQsIHdoaWNoIHNpZ25zIGZyb20gbm8=',
  previousSecretUntil: '2026-02-02T10:00:00.000Z',
  updatedAt: '2026-02-01T10:00:00.000Z',
} satisfies z.output<typeof endpointWithSecret>;

const TESTED = {
  eventId: '019bb6c4-0ba0-7e80-9f52-917dbe305c86',
  isAccepted: false,
  status: 500,
  durationMs: 84,
  body: 'no such route: /hooks/mailwright',
  error: null,
} satisfies z.output<typeof endpointTestView>;

const FAILED = {
  id: DELIVERY_ID,
  endpointId: ENDPOINT_ID,
  eventId: '019cad8f-bba0-7b5d-8c2f-6e4a8b0d2f53',
  event: 'email.bounced',
  state: 'FAILED',
  attempts: 10,
  lastStatus: 500,
  lastError: 'HTTP 500: no such route: /hooks/mailwright',
  nextAttemptAt: null,
  createdAt: '2026-03-02T08:00:04.120Z',
  updatedAt: '2026-03-05T11:06:10.000Z',
} satisfies z.output<typeof deliveryView>;

const REPLAYED = {
  ...FAILED,
  id: '019cc296-f900-7d7f-8e41-806cad2f4b75',
  state: 'PENDING',
  attempts: 0,
  lastStatus: null,
  lastError: null,
  nextAttemptAt: '2026-03-06T10:00:00.000Z',
  createdAt: '2026-03-06T10:00:00.000Z',
  updatedAt: '2026-03-06T10:00:00.000Z',
} satisfies z.output<typeof deliveryView>;

export const WEBHOOK_EXAMPLES: WrittenExamples = {
  listWebhookEndpoints: { answer: onePage(SHOWN) },
  createWebhookEndpoint: { body: NEW, answer: CREATED },
  getWebhookEndpoint: { answer: SHOWN },
  updateWebhookEndpoint: { body: CHANGE, answer: CHANGED },
  rotateWebhookSecret: { body: ROTATION, answer: ROTATED },
  testWebhookEndpoint: { answer: TESTED },
  listWebhookDeliveries: { answer: onePage(FAILED) },
  replayWebhookDelivery: { answer: REPLAYED },
  replayWebhooks: {
    body: { since: '2026-03-02T00:00:00.000Z' } satisfies z.input<typeof replayBody>,
    answer: { replayed: 42, hasMore: false } satisfies z.output<typeof replayView>,
  },
};
