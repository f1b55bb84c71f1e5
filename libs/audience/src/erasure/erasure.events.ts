import { defineEvent } from '#kernel';

/**
 * A subscriber was erased, and whoever holds something about that person erases it too. `addressDigest` is the
 * hex of the address's keyed digest (`AddressDigests`), for rows that know an address and no subscriber;
 * `erasedAt` is ISO 8601.
 */
export const SubscriberErased = defineEvent<{
  subscriberId: string;
  addressDigest: string;
  erasedAt: string;
}>('audience.subscriber_erased.v1');
