import { newId } from '#kernel';
import type { Recipient } from '#audience';

/**
 * Somebody who does not exist, for a preview or a test mail: the links made for it lead to nobody. `customFields` are
 * the defaults that templates have.
 */
export function sampleRecipient(
  email: string,
  topicNames: readonly string[],
  customFields: Recipient['customFields'],
): Recipient {
  return {
    subscriberId: newId(),
    email,
    firstName: 'Ada',
    lastName: 'Lovelace',
    phone: null,
    customFields,
    topicNames,
    obstacle: null,
  };
}
