import type { ProjectScope } from '#kernel';

/** Whether mail is going out under the domain. Whoever sends mail says so. */
export abstract class DomainUsage {
  /** Joins the caller's transaction. */
  abstract isSending(scope: ProjectScope): Promise<boolean>;
}
