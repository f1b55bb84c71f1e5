/**
 * Something that happened, in the past tense, with a version: `audience.consent_confirmed.v1`.
 * The payload holds ids, never an address, content or a secret.
 */
export interface DomainEvent<Name extends string = string, Payload extends object = Record<string, unknown>> {
  readonly name: Name;
  readonly payload: Payload;
}

/** A kind of event and the one way to make it, so that emitter and handler agree on its shape. */
export interface EventType<Payload extends object> {
  readonly eventName: string;
  (payload: Payload): DomainEvent<string, Payload>;
}

/** Declares an event type: `const CampaignQueued = defineEvent<{campaignId: string}>('messaging.campaign_queued.v1')`. */
export function defineEvent<Payload extends object>(eventName: string): EventType<Payload> {
  return Object.assign((payload: Payload) => ({ name: eventName, payload }), { eventName });
}

/** The events that webhooks carry. */
export const PUBLISHED_EVENT_TYPES = [
  'subscriber.created',
  'subscriber.updated',
  'subscriber.deleted',
  'consent.granted',
  'consent.pending',
  'consent.confirmed',
  'consent.revoked',
  'suppression.added',
  'suppression.removed',
  'campaign.scheduled',
  'campaign.queued',
  'campaign.sent',
  'campaign.failed',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.opened',
  'email.clicked',
  'domain.verified',
  'domain.failed',
  'import.completed',
  'credits.depleted',
  'automation.completed',
] as const;
export type PublishedEventType = (typeof PUBLISHED_EVENT_TYPES)[number];
