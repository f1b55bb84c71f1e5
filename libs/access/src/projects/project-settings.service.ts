import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database, publish } from '#platform';
import type { ProjectChanges } from './project-changes.js';
import { TrackingHostCheckRequested } from './project.events.js';
import type { ProjectProfile } from './project.js';
import { ProjectRepository } from './project.repository.js';
import { ProjectRules } from './project-rules.service.js';
import { ProjectsQuery } from './projects.query.js';

/** The settings of a project, as its own keys change them, live and test alike. */
@Injectable()
export class ProjectSettings {
  constructor(
    private readonly database: Database,
    private readonly query: ProjectsQuery,
    private readonly projects: ProjectRepository,
    private readonly rules: ProjectRules,
    private readonly clock: Clock,
  ) {}

  /** Has a tracking host that is named looked at, also where it stays the same. Throws `DomainValidationError`. */
  async change(
    scope: ProjectScope,
    changes: Omit<ProjectChanges, 'aiSegmentSuggestionsEnabled'>,
  ): Promise<ProjectProfile> {
    const { logoUrl, ...others } = changes;
    // A logo that stays is not asked for again: its host may be away.
    const isOther = logoUrl !== undefined && logoUrl !== (await this.#current(scope)).logoUrl;
    const wanted = isOther ? changes : others;
    await this.rules.judge(wanted);
    await this.database.transaction(scope, async () => {
      const project = await this.projects.lock(scope.projectId);
      project.change(wanted, this.clock.now());
      await this.projects.save();
      const { trackingHost: host } = project;
      if (changes.trackingHost !== undefined && host !== null)
        await publish(this.database, scope, TrackingHostCheckRequested({ host }));
    });
    return this.#current(scope);
  }

  async #current(scope: ProjectScope): Promise<ProjectProfile> {
    const project = await this.query.ofScope(scope);
    if (project === null) throw new NotFoundError();
    return project;
  }
}
