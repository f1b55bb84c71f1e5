import type { ProjectScope } from '#kernel';

/** Whether a tenant may have a sending domain of its own. Whoever knows its plan says so. */
export abstract class DomainPlan {
  abstract includesDomain(scope: ProjectScope): Promise<boolean>;
}
