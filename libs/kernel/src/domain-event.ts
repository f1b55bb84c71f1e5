/**
 * Something that happened, in the past tense, with a version: `audience.consent_confirmed.v1`.
 * The payload holds ids, never an address, content or a secret.
 */
export interface DomainEvent<Name extends string = string, Payload extends object = Record<string, unknown>> {
  readonly name: Name;
  readonly payload: Payload;
}

/** Names an event and gives the one way to make it, so that emitter and handler agree on its shape. */
export interface EventType<Payload extends object> {
  readonly eventName: string;
  (payload: Payload): DomainEvent<string, Payload>;
}

/** Declares an event type: `const CampaignQueued = defineEvent<{campaignId: string}>('messaging.campaign_queued.v1')`. */
export function defineEvent<Payload extends object>(eventName: string): EventType<Payload> {
  return Object.assign((payload: Payload) => ({ name: eventName, payload }), { eventName });
}
