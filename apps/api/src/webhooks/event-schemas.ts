import { z } from 'zod';
import {
  CONSENT_STATUSES,
  IMPORT_STATUSES,
  SUBSCRIBER_STATUSES,
  SUPPRESSED_STREAMS,
  SUPPRESSION_REASONS,
} from '#audience';
import { BOUNCE_CLASSES, SENDING_DOMAIN_STATUSES } from '#deliverability';
import type { PublishedEventType } from '#kernel';
import { AGENT_KINDS, CAMPAIGN_STATUSES } from '#messaging';

const uuid = z.string().meta({ format: 'uuid' });
const time = z.iso.datetime().meta({ description: 'ISO 8601 in UTC.' });
const count = z.int().meta({ format: 'int64' });
const metadata = z
  .record(z.string(), z.string())
  .meta({ description: 'Strings of yours by key, as they were when it happened.' });
const relayKey = z
  .string()
  .nullable()
  .meta({ description: 'The relay that took it; null: the default one.' });

const subscriber = z
  .object({
    id: uuid,
    subscriberKey: z.string().nullable(),
    email: z.string(),
    externalId: z.string().nullable(),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    phone: z.string().nullable(),
    locale: z.string().nullable(),
    timeZone: z.string().nullable(),
    status: z.enum(SUBSCRIBER_STATUSES),
    source: z.enum(['API', 'IMPORT', 'FORM', 'MANUAL']).nullable(),
    customFields: z.record(z.string(), z.unknown()),
    metadata,
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'SubscriberEventData' });

const consent = z
  .object({
    subscriberId: uuid,
    email: z.string(),
    topicKey: z.string(),
    topicMetadata: metadata,
    status: z.enum(CONSENT_STATUSES),
    grantedAt: time.nullable(),
    confirmedAt: time.nullable(),
    revokedAt: time.nullable(),
  })
  .meta({ id: 'ConsentEventData' });

const suppression = z
  .object({
    email: z.string(),
    reason: z.enum(SUPPRESSION_REASONS),
    streams: z.enum(SUPPRESSED_STREAMS).meta({ description: 'The mail that is barred.' }),
    suppressedAt: time,
  })
  .meta({ id: 'SuppressionEventData' });

const campaignFacts = {
  id: uuid,
  campaignKey: z.string(),
  name: z.string(),
  subject: z.string(),
  status: z.enum(CAMPAIGN_STATUSES),
  metadata,
  estimatedRecipientCount: count.nullable(),
  scheduledAt: time.nullable(),
  scheduledAtLocal: z.string().nullable(),
  completedAt: time.nullable(),
};
const campaign = z.object(campaignFacts).meta({ id: 'CampaignEventData' });

const mailFacts = {
  deliveryId: uuid,
  kind: z.enum(['CAMPAIGN', 'AUTOMATION']),
  email: z.string(),
  subscriberId: uuid.nullable(),
  campaignId: uuid.nullable(),
  campaignKey: z.string().nullable(),
  automationKey: z.string().nullable(),
  nodeId: z.string().nullable().meta({ description: 'The step of the automation that sent it.' }),
  messageId: z.string().meta({ description: 'The `Message-ID` of the mail.' }),
  metadata,
};
const messageFacts = {
  messageId: uuid.meta({ description: 'The `id` of the message.' }),
  to: z.string().nullable().meta({ description: 'null: the person was erased.' }),
  subscriberId: uuid.nullable().meta({ description: 'null: the person is no subscriber.' }),
  topicKey: z.string().nullable(),
  tags: z.array(z.string()),
  metadata,
};
const sentFacts = { sentAt: time.nullable(), relayKey };
const detail = z.string().nullable().meta({ description: 'The reply of the next hop.' });
const failedFacts = { reason: z.string().nullable(), detail };
const bouncedFacts = {
  bounceClass: z.enum(BOUNCE_CLASSES).meta({ description: 'See the guide on bounces.' }),
  detail,
};
const openedFacts = { at: time, agent: z.enum(AGENT_KINDS).meta({ description: 'The kind of program.' }) };
const clickedFacts = {
  ...openedFacts,
  url: z.string().nullable(),
  linkNumber: z.int().nullable().meta({ description: 'The number of the link in its mail.' }),
};

const mail = <Facts extends z.ZodRawShape>(id: string, more: Facts) =>
  z.object({ ...mailFacts, ...more }).meta({ id });
const message = <Facts extends z.ZodRawShape>(id: string, more: Facts) =>
  z.object({ ...messageFacts, ...more }).meta({ id });

const mailSent = mail('EmailSentEventData', sentFacts);
const mailAlone = mail('EmailEventData', {});
const messageSent = message('MessageSentEventData', sentFacts);

const domain = z
  .object({ domainName: z.string(), status: z.enum(SENDING_DOMAIN_STATUSES) })
  .meta({ id: 'DomainEventData' });

interface EventSchema {
  /** When it happens. */
  readonly summary: string;
  readonly data: z.ZodObject;
}

const of = <Data extends z.ZodObject>(summary: string, data: Data) => ({ summary, data });

/** Every event that endpoints are posted, and the shape of its `data`. */
export const EVENT_SCHEMAS = {
  'subscriber.created': of('A client, a page or an operator created a subscriber', subscriber),
  'subscriber.updated': of('Fields or the address of a subscriber changed', subscriber),
  'subscriber.deleted': of(
    'A subscriber was erased',
    z.object({ id: uuid }).meta({ id: 'SubscriberDeletedEventData' }),
  ),
  'consent.granted': of('Consent to a topic was given, by single opt-in', consent),
  'consent.pending': of('Consent to a topic waits for its confirmation', consent),
  'consent.confirmed': of('Consent to a topic was confirmed', consent),
  'consent.revoked': of('Consent to a topic was taken back', consent),
  'suppression.added': of('An address was suppressed, or is so for more mail than before', suppression),
  'suppression.removed': of(
    'An address may get mail again',
    z.object({ email: z.string() }).meta({ id: 'SuppressionRemovedEventData' }),
  ),
  'campaign.scheduled': of('A campaign was scheduled', campaign),
  'campaign.queued': of('A campaign is being sent', campaign),
  'campaign.sent': of('A campaign was sent', campaign),
  'campaign.failed': of(
    'A campaign could not be sent',
    z
      .object({ ...campaignFacts, failureReason: z.string().optional() })
      .meta({ id: 'CampaignFailedEventData' }),
  ),
  'campaign.decided': of(
    'The test of a campaign’s variants has a winner',
    z
      .object({ ...campaignFacts, winningVariant: z.int().meta({ description: 'Its number, from 1.' }) })
      .meta({ id: 'CampaignDecidedEventData' }),
  ),
  'campaign.undecided': of('The test of a campaign’s variants came to no result: choose one', campaign),
  'email.sent': of('The relay, or the next mail server, accepted a mail', mailSent),
  'email.delivered': of('The relay’s provider says that a mail arrived', mailSent),
  'email.failed': of(
    'A mail was given up for another reason than its address',
    mail('EmailFailedEventData', failedFacts),
  ),
  'email.bounced': of(
    'A mail was refused for its address, or came back',
    mail('EmailBouncedEventData', bouncedFacts),
  ),
  'email.complained': of('A reader reported a mail as spam', mailAlone),
  'email.opened': of('A person opened a mail', mail('EmailOpenedEventData', openedFacts)),
  'email.clicked': of(
    'A person followed a link of a mail',
    mail('EmailClickedEventData', {
      ...clickedFacts,
      link: z.int().nullable().meta({ deprecated: true, description: 'The same as `linkNumber`.' }),
    }),
  ),
  'email.unsubscribed': of('A reader unsubscribed through a mail', mailAlone),
  'message.sent': of('The relay, or the next mail server, accepted a message', messageSent),
  'message.delivered': of('The relay’s provider says that a message arrived', messageSent),
  'message.bounced': of(
    'A message was refused for its address, or came back',
    message('MessageBouncedEventData', bouncedFacts),
  ),
  'message.complained': of(
    'A message was reported as spam',
    message('MessageComplainedEventData', { relayKey }),
  ),
  'message.opened': of('A person opened a message', message('MessageOpenedEventData', openedFacts)),
  'message.clicked': of(
    'A person followed a link of a message',
    message('MessageClickedEventData', clickedFacts),
  ),
  'message.failed': of('A message was given up, or too late', message('MessageFailedEventData', failedFacts)),
  'message.suppressed': of(
    'The address of a message got no mail any more when it was to be sent',
    message('MessageSuppressedEventData', { reason: z.string().nullable() }),
  ),
  'domain.verified': of('The records of the sending domain were found', domain),
  'domain.failed': of('The records of the sending domain were not found in time', domain),
  'import.completed': of(
    'An import ended',
    z
      .object({
        id: uuid,
        kind: z.enum(['SUBSCRIBERS', 'SUPPRESSIONS']).meta({
          description: 'Of suppressions, `created` counts the addresses that were not suppressed before.',
        }),
        status: z.enum(IMPORT_STATUSES),
        counts: z.object({ total: count, created: count, updated: count, skipped: count, failed: count }),
        failureReason: z.string().nullable(),
      })
      .meta({ id: 'ImportEventData' }),
  ),
  'credits.depleted': of(
    'The last AI credit was used',
    z.object({ balance: count }).meta({ id: 'CreditsEventData' }),
  ),
  'automation.completed': of(
    'A person came to the end of an automation',
    z
      .object({
        automationKey: z.string(),
        automationId: uuid,
        metadata,
        subscriberId: uuid.nullable(),
        email: z.string().nullable(),
        outcome: z.enum(['completed', 'converted']),
        enteredAt: time,
        completedAt: time,
      })
      .meta({ id: 'AutomationEventData' }),
  ),
} satisfies Record<PublishedEventType, EventSchema>;

const TEST_SCHEMA = of(
  'Somebody tests the endpoint',
  z.object({ endpointId: uuid }).meta({ id: 'WebhookTestEventData' }),
);

/** The schemas of all posts: those of events, and of a test, which is none. */
export const POSTED_SCHEMAS: Readonly<Record<string, EventSchema>> = {
  ...EVENT_SCHEMAS,
  'webhook.test': TEST_SCHEMA,
};

/** The body of a post. */
export function postSchema(type: string, { data }: EventSchema) {
  const name = type
    .split('.')
    .map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`)
    .join('');
  const sequence =
    type === 'webhook.test'
      ? z.literal(0)
      : count.meta({ description: 'Its number among the events of the project’s environment.' });
  return z
    .object({
      type: z.literal(type),
      timestamp: time.meta({ description: 'When it happened.' }),
      sequence,
      data,
    })
    .meta({ id: `${name}Event` });
}
