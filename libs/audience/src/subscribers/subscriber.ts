import type { SubscriberStatus } from '../consents/subscriber-status.js';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';

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
  /** The values of active fields, by key. */
  readonly customFields: CustomFieldValues;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What a client may change. */
export type SubscriberFields = Pick<Subscriber, 'firstName' | 'lastName' | 'phone' | 'customFields'>;
