import { z } from 'zod';
import { CONSENT_ACTORS, CONSENT_STATUSES, SUBSCRIBER_STATUSES } from '#audience';
import { ACTIVITY_TYPES } from '#messaging';
import { int64, pageOf, pageQuery, timestamp, uuid } from '#platform/http';
import { consentRecordView } from '../audience/consents.dto.js';
import { metadataView } from '../fields.js';

const text = z.string();
const textOrNone = z.string().nullable();
const timeOrNone = timestamp.nullable();
const free = z.unknown().meta({ description: 'As it was given.' });

const heldSubscriber = z
  .object({
    id: uuid,
    subscriberKey: text,
    email: text,
    externalId: textOrNone,
    firstName: textOrNone,
    lastName: textOrNone,
    phone: textOrNone,
    locale: textOrNone,
    timeZone: textOrNone,
    status: z.enum(SUBSCRIBER_STATUSES),
    source: text,
    customFields: z
      .record(z.string(), z.unknown())
      .meta({ description: 'With the values of archived fields.' }),
    metadata: metadataView,
    pausedUntil: timeOrNone,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'HeldSubscriber' });

const heldSuppression = z.object({
  email: text,
  suppressed: z.boolean(),
  reason: textOrNone,
  streams: textOrNone,
  suppressedAt: timeOrNone,
});

const heldConsent = z.object({
  topicKey: text,
  topicName: text,
  status: z.enum(CONSENT_STATUSES),
  grantedAt: timeOrNone,
  confirmedAt: timeOrNone,
  revokedAt: timeOrNone,
  subscribedAt: timeOrNone,
  tokenExpiresAt: timeOrNone,
});

const heldConsentRecord = z
  .object({
    id: uuid,
    occurredAt: timestamp,
    topicKey: text,
    topicName: text,
    from: z.enum(CONSENT_STATUSES).nullable(),
    to: z.enum(CONSENT_STATUSES),
    actor: z.enum(CONSENT_ACTORS),
    actorId: textOrNone,
    source: textOrNone,
    sourceUrl: textOrNone,
    ipAddress: textOrNone,
    userAgent: textOrNone,
    consentText: textOrNone,
    formVersion: textOrNone,
    messageId: textOrNone,
    textLocale: textOrNone,
    textVersion: z.int().nullable(),
    addressChange: consentRecordView.shape.addressChange,
    position: int64.meta({ description: 'The order in which the changes happened.' }),
  })
  .meta({ id: 'HeldConsentRecord' });

const heldConfirmation = z.object({
  id: uuid,
  requestedAt: timestamp,
  expiresAt: timestamp,
  isRepeat: z.boolean(),
  topicKeys: z.array(text),
});

const heldEvent = z.object({
  id: uuid,
  name: text,
  properties: free,
  uniqueId: textOrNone,
  occurredAt: timestamp,
  createdAt: timestamp,
});

const heldSegment = z.object({ segmentKey: text, name: text, type: text, addedAt: timestamp });

const changes = z
  .record(z.string(), z.object({ from: z.unknown(), to: z.unknown() }))
  .meta({ description: 'Values before and after, by the path of the field: `email`, `customFields.plan`.' });
const actor = z.enum(CONSENT_ACTORS);
const heldFieldChange = z.object({ id: uuid, occurredAt: timestamp, actor, actorId: textOrNone, changes });

const heldImportError = z.object({
  importId: uuid,
  importedAt: timestamp,
  row: int64,
  line: int64.nullable(),
  email: textOrNone,
  errors: free,
});

const heldMail = z
  .object({
    id: uuid,
    kind: text,
    campaignKey: textOrNone,
    automationKey: textOrNone,
    address: text,
    locale: textOrNone,
    variant: z.int().nullable(),
    messageId: text,
    relayKey: textOrNone,
    providerMessageId: textOrNone,
    state: text,
    reason: textOrNone,
    attempts: z.int(),
    possibleDuplicate: z.boolean(),
    lastError: textOrNone,
    createdAt: timestamp,
    sentAt: timeOrNone,
    finishedAt: timeOrNone,
    bouncedAt: timeOrNone,
    bounceType: textOrNone,
    bounceClass: textOrNone,
    opens: z.int(),
    clicks: z.int(),
    firstOpenedAt: timeOrNone,
    firstClickedAt: timeOrNone,
    unsubscribedAt: timeOrNone,
    complainedAt: timeOrNone,
  })
  .meta({ id: 'HeldMail' });

const heldMailEvent = z.object({
  id: uuid,
  type: text,
  occurredAt: timestamp,
  deliveryId: uuid,
  bounceType: textOrNone,
  url: textOrNone,
  linkNumber: z.int().nullable(),
  classification: text.meta({ description: 'human; or proxy or scanner, which are not counted.' }),
  agent: textOrNone,
});

const heldRun = z.object({
  id: uuid,
  automationKey: text,
  status: text,
  enteredAt: timestamp,
  finishedAt: timeOrNone,
  data: free,
  steps: z.array(z.object({ at: text, status: text, detail: textOrNone })),
});

const heldMessage = z.object({
  id: uuid,
  status: text,
  to: text,
  subject: textOrNone,
  purpose: text,
  topicKey: textOrNone,
  templateKey: textOrNone,
  templateVersion: z.int().nullable(),
  tags: z.array(text),
  metadata: free,
  locale: textOrNone,
  keep: text,
  trackOpens: z.boolean(),
  trackClicks: z.boolean(),
  ambiguous: text,
  content: free.meta({
    description:
      'What the mail is made of beside its template, for as long as it is kept; null while it is encrypted.',
  }),
  relayKey: textOrNone,
  failureReason: textOrNone,
  scheduledAt: timeOrNone,
  expiresAt: timeOrNone,
  sentAt: timeOrNone,
  deliveredAt: timeOrNone,
  finishedAt: timeOrNone,
  createdAt: timestamp,
  updatedAt: timestamp,
});

const heldMessageEvent = z.object({
  id: uuid,
  type: text,
  occurredAt: timestamp,
  messageId: uuid,
  reply: textOrNone,
  reason: textOrNone,
  relayKey: textOrNone,
  classification: text,
  agent: textOrNone,
  url: textOrNone,
  linkNumber: z.int().nullable(),
});

const heldTestMail = z.object({
  id: uuid,
  kind: text,
  to: text,
  from: text,
  subject: text,
  receivedAt: timestamp,
  raw: text.meta({ description: 'The whole mail (RFC 5322).' }),
});

const heldWebhookEvent = z.object({ id: uuid, type: text, occurredAt: timestamp, data: free });

/** Everything that is held about a person: lists of rows, the oldest first. */
export const personExportView = z
  .object({
    subscriber: heldSubscriber,
    suppression: heldSuppression,
    consents: z.array(heldConsent),
    consentRecord: z
      .array(heldConsentRecord)
      .meta({ description: 'Every change of a consent, with its proof.' }),
    confirmations: z.array(heldConfirmation).meta({ description: 'Requests to confirm a subscription.' }),
    events: z.array(heldEvent).meta({ description: 'Events that you recorded, by their names.' }),
    segments: z.array(heldSegment),
    fieldChanges: z.array(heldFieldChange).meta({ description: 'Changes of fields of the last year.' }),
    importErrors: z
      .array(heldImportError)
      .meta({ description: 'Rows of imports with the address that were refused.' }),
    deliveries: z.array(heldMail).meta({ description: 'Mails, and what became of them.' }),
    deliveryEvents: z.array(heldMailEvent).meta({ description: 'Opens, clicks, bounces … of those mails.' }),
    automationRuns: z.array(heldRun).meta({ description: 'Runs of automations, with what they began with.' }),
    messages: z.array(heldMessage).meta({ description: 'Messages to the address.' }),
    messageEvents: z.array(heldMessageEvent).meta({ description: 'What became of those messages.' }),
    testInbox: z.array(heldTestMail).meta({ description: 'Mails of the test environment.' }),
    webhookEvents: z
      .array(heldWebhookEvent)
      .meta({ description: 'Events about the person that webhooks told.' }),
  })
  .meta({ id: 'PersonExport' });

export const activityListQuery = pageQuery({
  type: z.enum(ACTIVITY_TYPES).optional().meta({ description: 'Only activity of this type.' }),
});

type ActivityType = (typeof ACTIVITY_TYPES)[number];

const activity = <Type extends ActivityType, Data extends z.ZodRawShape>(
  types: readonly [Type, ...Type[]],
  data: Data,
) =>
  z.object({
    id: uuid,
    type: z.enum(types),
    timestamp: timestamp.meta({ description: 'When it happened.' }),
    data: z.object(data),
    createdAt: timestamp,
    updatedAt: timestamp,
  });

/** The mail that it is about: null but for `deliveryId` where it is not kept any more. */
const mail = {
  deliveryId: uuid,
  kind: textOrNone,
  email: textOrNone.meta({ description: 'The address that the mail went to.' }),
  campaignId: uuid.nullable(),
  campaignKey: textOrNone,
  automationKey: textOrNone,
  nodeId: textOrNone.meta({ description: 'The step of the automation that sent the mail.' }),
  messageId: textOrNone,
};
const agent = textOrNone.meta({ description: 'The kind of program.' });
const consent = {
  topicKey: text,
  topicName: text,
  from: z.enum(CONSENT_STATUSES).nullable(),
  to: z.enum(CONSENT_STATUSES),
  actor: z.enum(CONSENT_ACTORS),
  actorId: textOrNone,
  source: textOrNone,
};
const failure = { reason: textOrNone, bounceClass: textOrNone, detail: textOrNone };
const run = {
  runId: uuid,
  automationId: uuid,
  automationKey: text,
  outcome: textOrNone.meta({ description: 'completed, converted, failed or cancelled; null of an entry.' }),
};

const activityView = z
  .discriminatedUnion('type', [
    activity(['subscriber.created'], { source: text }),
    activity(['subscriber.updated'], { changes, actor, actorId: textOrNone }),
    activity(
      ['consent.pending', 'consent.granted', 'consent.confirmed', 'consent.revoked', 'consent.expired'],
      consent,
    ),
    activity(['event.recorded'], { name: text, properties: free, uniqueId: textOrNone }),
    activity(['email.sent'], { ...mail, relayKey: textOrNone }),
    activity(['email.failed', 'email.bounced'], { ...mail, ...failure }),
    activity(['email.opened'], { ...mail, agent }),
    activity(['email.clicked'], { ...mail, url: textOrNone, linkNumber: z.int().nullable(), agent }),
    activity(['email.unsubscribed', 'email.complained'], mail),
    activity(['automation.entered', 'automation.completed', 'automation.ended'], run),
  ])
  .meta({ id: 'Activity' });

export const activityPage = pageOf(activityView, 'ActivityPage');
