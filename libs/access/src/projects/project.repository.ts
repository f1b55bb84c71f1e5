import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { DomainValidationError, type Environment, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AccessTables } from '../access-tables.js';
import { ProjectAlreadyExistsError } from './project.errors.js';
import { Project } from './project.js';

/** Reads and writes projects in the open transaction. */
@Injectable()
export class ProjectRepository {
  constructor(private readonly database: Database) {}

  /** Throws `ProjectAlreadyExistsError`; the transaction is lost then. */
  async add(project: Project): Promise<void> {
    try {
      await this.database.em.persist(project).flush();
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException)
        throw new ProjectAlreadyExistsError(project.projectKey);
      throw error;
    }
  }

  /** Writes what was changed. Throws `DomainValidationError` for another project's tracking host; the transaction is lost then. */
  async save(): Promise<void> {
    try {
      await this.database.em.flush();
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException)
        throw new DomainValidationError({ trackingHost: 'is the tracking host of another project' });
      throw error;
    }
  }

  async addEnvironment({ id, tenantId }: Project, environment: Environment): Promise<ProjectScope> {
    const made = await this.database
      .tables<AccessTables>()
      .insertInto('access.project_environments')
      .values({ projectId: id, environment })
      .returning('id')
      .executeTakeFirstOrThrow();
    return { tenantId, projectId: id, environmentId: made.id, environment };
  }

  /** The project, kept from others until the transaction ends, or `NotFoundError`. */
  async lock(id: number): Promise<Project> {
    const project = await this.database.em.findOne(Project, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (project === null) throw new NotFoundError();
    return project;
  }
}
