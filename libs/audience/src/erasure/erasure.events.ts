import { defineEvent } from '#kernel';

/**
 * A subscriber was erased: every context erases its data about that person. `addressDigest` is the hex of the address's
 * keyed digest (`AddressDigests`), for rows with an address but no subscriber; `erasedAt` is ISO 8601.
 */
export const SubscriberErased = defineEvent<{
  subscriberId: string;
  addressDigest: string;
  erasedAt: string;
}>('audience.subscriber_erased.v1');
