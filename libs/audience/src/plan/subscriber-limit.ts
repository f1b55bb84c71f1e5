import type { ProjectScope } from '#kernel';

/** The limit of subscribers in a tenant's plan: a port of whoever knows plans. Without plans there is no limit. */
export abstract class SubscriberLimit {
  /** For the live environments of all the tenant's projects together; −1 is unlimited. */
  abstract maxSubscribers(scope: ProjectScope): Promise<number>;
}

/** The value for no limit. */
export const UNLIMITED = -1;

/**
 * At this distance from the limit new subscribers do not wait for each other: it exceeds the number of concurrent
 * transactions, which a count does not see.
 */
export const ROOM_FOR_ALL = 1_000;

/** The distance for callers that create thousands at a time: room for some tens of such transactions. */
export const ROOM_FOR_IMPORTS = 50_000;
