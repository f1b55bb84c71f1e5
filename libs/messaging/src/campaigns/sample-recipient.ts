import { newId } from '#kernel';
import type { Recipient } from '#audience';

/** Somebody who does not exist, for a preview or a test mail: the links made for it lead to nobody. */
export function sampleRecipient(email: string, topicNames: readonly string[]): Recipient {
  return {
    subscriberId: newId(),
    email,
    firstName: 'Ada',
    lastName: 'Lovelace',
    phone: null,
    customFields: {},
    topicNames,
    obstacle: null,
  };
}
