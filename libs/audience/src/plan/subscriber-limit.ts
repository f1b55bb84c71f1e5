import type { ProjectScope } from '#kernel';

/** The limit of subscribers of a tenant's plan. Whoever knows the plan says it; without one there is no limit. */
export abstract class SubscriberLimit {
  /** For the live environments of all the tenant's projects together; −1 is unlimited. */
  abstract max(scope: ProjectScope): Promise<number>;
}

/** What a limit says when there is none. */
export const UNLIMITED = -1;

/**
 * Up to this far from the limit new subscribers don't wait for each other: more than there are transactions at one
 * moment, and so more than can be on their way past a count.
 */
export const ROOM_FOR_ALL = 1_000;

/** The same for whoever makes thousands at a time: some tens of such transactions, and those who make one beside them. */
export const ROOM_FOR_IMPORTS = 50_000;
