import type { ProjectScope } from '#kernel';

/** Who sends mail under a project's domain, which therefore stays. Whoever knows of mail says so. */
export abstract class DomainUsage {
  /** Until the caller's transaction ends, nobody else begins to. Throws `InUseError` while somebody does. */
  abstract refuseIfUsed(scope: ProjectScope): Promise<void>;
}
