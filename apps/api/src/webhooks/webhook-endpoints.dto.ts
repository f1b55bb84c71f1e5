import { z } from 'zod';
import { PUBLISHED_EVENT_TYPES } from '#kernel';
import { pageOf, pageQuery, strictBody, timestamp, uuid } from '#platform/http';
import { DELIVERY_STATES, ENDPOINT_STATUSES, EVENT_PATTERNS, eventsFault, urlFault } from '#webhooks';
import { checked, defaulted, leftOut, line, moment } from '../fields.js';

const events = z
  .array(z.enum(EVENT_PATTERNS))
  .min(1)
  .max(EVENT_PATTERNS.length)
  .superRefine((patterns, context) => {
    const found = eventsFault(patterns);
    if (found === null) return;
    const path = found.index === undefined ? [] : [found.index];
    context.addIssue({ code: 'custom', path, message: found.fault });
  });
const url = checked(urlFault).max(2_000);
const EVENTS =
  'Types of events, all of an area such as `email.*`, or `*` for all; the latter two also take types that come later.';

export const createEndpointBody = strictBody({
  url: url.meta({
    description: 'An http or https URL on a public address, without a password.',
    format: 'uri',
  }),
  events: events
    .nullish()
    .transform((given) => given ?? (['*'] as const))
    .meta({ description: `${EVENTS} Default: all.` }),
  description: line(500).nullish(),
}).meta({ id: 'CreateWebhookEndpoint' });

export const updateEndpointBody = strictBody({
  url: leftOut(url.meta({ format: 'uri' })),
  events: leftOut(events).meta({ description: EVENTS }),
  description: line(500).nullish(),
  status: leftOut(z.enum(ENDPOINT_STATUSES)).meta({
    description:
      'DISABLED: what waits to be posted fails, and what happens is kept for nobody. ENABLED: it is told what happens from then on.',
  }),
}).meta({ id: 'UpdateWebhookEndpoint' });

export const rotateSecretBody = strictBody({
  overlapHours: defaulted(
    z.int().min(0).max(168),
    24,
    'Hours for which the previous secret signs beside the new one.',
  ),
}).meta({ id: 'RotateWebhookSecret' });

const shown = {
  id: uuid,
  url: z.string(),
  events: z.array(z.enum(EVENT_PATTERNS)),
  description: z.string().nullable(),
  status: z.enum(ENDPOINT_STATUSES),
  disabledReason: z
    .string()
    .nullable()
    .meta({ description: 'Why it was disabled, if by itself: it answered 410.' }),
  previousSecretUntil: timestamp.nullable().meta({
    description: 'Until when the secret before signs beside the present one; null: one signs.',
  }),
  createdAt: timestamp,
  updatedAt: timestamp,
};

export const endpointView = z.object(shown).meta({ id: 'WebhookEndpoint' });

export const endpointWithSecret = z
  .object({ ...shown, secret: z.string().meta({ description: 'Signs the posts. Shown this once.' }) })
  .meta({ id: 'WebhookEndpointWithSecret' });

export const endpointPage = pageOf(endpointView, 'WebhookEndpointPage');
export const endpointListQuery = pageQuery({});

export const endpointTestView = z
  .object({
    eventId: z.uuid().meta({ description: 'The `webhook-id` of the post.' }),
    isAccepted: z.boolean().meta({ description: 'Whether it answered 2xx within 5 s.' }),
    status: z.int().nullable().meta({ description: 'null: there was no answer.' }),
    durationMs: z.int(),
    body: z.string().nullable().meta({ description: 'The first 1 000 characters of the answer.' }),
    error: z.string().nullable().meta({ description: 'Why there was no answer.' }),
  })
  .meta({ id: 'WebhookTest' });

export const deliveryView = z
  .object({
    id: uuid,
    endpointId: z.uuid(),
    eventId: z.uuid().meta({ description: 'The `webhook-id` of its posts; a replay has the same.' }),
    event: z.enum(PUBLISHED_EVENT_TYPES),
    state: z.enum(DELIVERY_STATES).meta({ description: 'FAILED: it is tried no more.' }),
    attempts: z.int(),
    lastStatus: z.int().nullable(),
    lastError: z
      .string()
      .nullable()
      .meta({ description: 'Why it was not accepted; with the beginning of the answer.' }),
    nextAttemptAt: timestamp.nullable().meta({ description: 'null: it has ended.' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'WebhookDelivery' });

export const deliveryPage = pageOf(deliveryView, 'WebhookDeliveryPage');
export const deliveryListQuery = pageQuery({
  event: z.enum(PUBLISHED_EVENT_TYPES).optional().meta({ description: 'Deliveries of events of this type.' }),
  state: z.enum(DELIVERY_STATES).optional(),
  from: moment.optional().meta({ description: 'Created then or later.' }),
  to: moment.optional().meta({ description: 'Created before.' }),
});

export const replayBody = strictBody({
  since: moment.meta({ description: 'Of the deliveries’ creation; they are kept for 30 days.' }),
  state: defaulted(
    z.enum(['FAILED', 'ALL']),
    'FAILED',
    'FAILED: events that the endpoint never accepted. ALL: also accepted ones.',
  ),
}).meta({ id: 'ReplayWebhooks' });

export const replayView = z
  .object({
    replayed: z.int().meta({ description: 'How many events are posted once more.' }),
    hasMore: z.boolean().meta({ description: 'True after 10 000: the same request goes on.' }),
  })
  .meta({ id: 'WebhookReplay' });
