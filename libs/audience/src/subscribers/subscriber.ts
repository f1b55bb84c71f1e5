export const SUBSCRIBER_STATUSES = [
  'SUPPRESSED',
  'COMPLAINED',
  'BOUNCED',
  'ACTIVE',
  'PENDING_CONFIRMATION',
  'UNSUBSCRIBED',
] as const;
export type SubscriberStatus = (typeof SUBSCRIBER_STATUSES)[number];

export type SubscriberSource = 'API' | 'IMPORT' | 'FORM' | 'MANUAL';

/** A person of one project, known by an address. */
export interface Subscriber {
  readonly id: string;
  readonly subscriberKey: string;
  /** As it was given. */
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  /** Derived from suppression and consents, never written by a client. */
  readonly status: SubscriberStatus;
  readonly source: SubscriberSource;
  readonly customFields: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What a client may change. */
export type SubscriberFields = Pick<Subscriber, 'firstName' | 'lastName' | 'phone'>;

/** What is wrong with the custom fields of a request: a project has none that could be known. */
export function customFieldFaults(customFields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.keys(customFields).map((key) => [`customFields.${key}`, 'is not a known field']),
  );
}
