import type { OutgoingMail } from '../../deliveries/delivery.js';

/** A mail of its own, and the domain that it is from; or why it is not to be sent. */
export type ComposedMail =
  | { readonly mail: OutgoingMail; readonly senderDomain: string }
  | { readonly skipped: string };
