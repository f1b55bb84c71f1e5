import { Inject, Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Logos } from './logos.service.js';
import type { ProjectChanges } from './project-changes.js';
import type { ProjectProfile } from './project.js';
import { ProjectRepository } from './project.repository.js';
import { ProjectsQuery } from './projects.query.js';

/** The settings of a project, as its own keys change them, live and test alike. */
@Injectable()
export class ProjectSettings {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ProjectsQuery) private readonly query: ProjectsQuery,
    @Inject(ProjectRepository) private readonly projects: ProjectRepository,
    @Inject(Logos) private readonly logos: Logos,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws `DomainValidationError`. */
  async change(
    scope: ProjectScope,
    changes: Omit<ProjectChanges, 'aiSegmentSuggestionsEnabled'>,
  ): Promise<ProjectProfile> {
    const { logoUrl, ...others } = changes;
    // A logo that stays is not asked for again: its host may be away.
    const isOther = logoUrl !== undefined && logoUrl !== (await this.#current(scope)).logoUrl;
    const wanted = isOther ? changes : others;
    await this.logos.judge(wanted);
    await this.database.transaction(scope, async () => {
      (await this.projects.lock(scope.projectId)).change(wanted, this.clock.now());
    });
    return this.#current(scope);
  }

  async #current(scope: ProjectScope): Promise<ProjectProfile> {
    const project = await this.query.ofScope(scope);
    if (project === null) throw new NotFoundError();
    return project;
  }
}
