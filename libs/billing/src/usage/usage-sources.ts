import type { ProjectScope } from '#kernel';

/** How many subscribers count for the plan. Whoever keeps subscribers says so. */
export abstract class SubscriberCount {
  /** In the live environments of all projects of the scope's tenant. */
  abstract ofTenant(scope: ProjectScope): Promise<number>;
}
