import type { RawBuilder } from 'kysely';
import type { AnnouncementType, ProjectScope } from '#kernel';

/** Something that happened and that is told outside. */
export interface Announcement {
  readonly type: AnnouncementType;
  /** Whom it is about: erasing the person erases `data`. */
  readonly subscriberId?: string | null;
  /** As the API shows such things: names in camelCase, times as ISO 8601. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** How contexts tell the world outside, without knowing who listens. */
export abstract class Announcer {
  /** False where nobody listens, so that nothing needs to be gathered. As of a few seconds ago. */
  abstract hears(scope: Pick<ProjectScope, 'environmentId'>, type: AnnouncementType): boolean;

  /** Kept with the caller's transaction: both are, or neither. */
  abstract announce(scope: ProjectScope, ...announcements: readonly Announcement[]): Promise<void>;

  /** The same as `hears`, for whatever environment. */
  abstract hearsAnywhere(type: AnnouncementType): boolean;

  /**
   * Many at once, of any environments, in the open transaction: `rows` is a query of `environment_id`,
   * `subscriber_id` and `data` (jsonb).
   */
  abstract announceRows(type: AnnouncementType, rows: RawBuilder<unknown>): Promise<void>;
}

/** Where nobody can listen: in commands, and in tests of a context alone. */
export class SilentAnnouncer extends Announcer {
  override hears(): boolean {
    return false;
  }

  override hearsAnywhere(): boolean {
    return false;
  }

  override async announce(): Promise<void> {}

  override async announceRows(): Promise<void> {}
}
