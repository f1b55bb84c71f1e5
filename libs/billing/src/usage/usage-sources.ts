import type { ProjectScope } from '#kernel';

/** How many subscribers count for the plan. Whoever keeps subscribers says so. */
export abstract class SubscriberCount {
  /** In the live environments of all projects of the scope's tenant. */
  abstract ofTenant(scope: ProjectScope): Promise<number>;
}

/** How many AI credits were spent. Whoever keeps their ledger says so. */
export abstract class AiCreditUsage {
  /** By the scope's tenant from `since` on. */
  abstract since(scope: ProjectScope, since: Date): Promise<number>;
}
