import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { TenantRepository } from '../tenants/tenant.repository.js';
import { ProjectRules } from './project-rules.service.js';
import type { ProjectChanges } from './project-changes.js';
import { type NewProject, Project } from './project.js';
import { ProjectRepository } from './project.repository.js';

/** What a new project is worked with: the scopes of its two environments. */
export interface CreatedProject {
  readonly id: number;
  readonly projectKey: string;
  readonly live: ProjectScope;
  readonly test: ProjectScope;
}

/** Projects, as the operator makes them. */
@Injectable()
export class ProjectsService {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantRepository,
    private readonly projects: ProjectRepository,
    private readonly rules: ProjectRules,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes a project with both of its environments, or nothing. Throws `DomainValidationError`,
   * `ProjectAlreadyExistsError`, or `NotFoundError` when there is no such tenant.
   */
  async create(tenantId: number, wanted: NewProject): Promise<CreatedProject> {
    const project = new Project(tenantId, wanted, this.clock.now());
    return this.database.system(async () => {
      if ((await this.tenants.find(tenantId)) === null) throw new NotFoundError();
      await this.projects.add(project);
      const { id, projectKey } = project;
      const live = await this.projects.addEnvironment(project, 'LIVE');
      return { id, projectKey, live, test: await this.projects.addEnvironment(project, 'TEST') };
    });
  }

  /** Changes what is said about a project. Throws `DomainValidationError`, or `NotFoundError` without such a project. */
  async change(projectId: number, changes: Omit<ProjectChanges, 'trackingHost'>): Promise<void> {
    await this.rules.judge(changes);
    await this.database.system(async () => {
      const project = await this.projects.lock(projectId);
      project.change(changes, this.clock.now());
    });
  }
}
