import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, PreparedQuery } from '#platform';
import type { AccessTables } from '../access-tables.js';
import type { ProjectProfile, ProjectWithEnvironments } from './project.js';

/** Asked for with each page and each webhook of an automation. */
const OF_SCOPE = new PreparedQuery((tables: Kysely<AccessTables>, projectId: number) =>
  tables
    .selectFrom('access.projects')
    .select(['id', 'projectKey', 'name', 'description', 'senderName', 'postalAddress', 'defaultFromEmail'])
    .select([
      'replyTo',
      'defaultLocale',
      'timeZone',
      'logoUrl',
      'color',
      'trackingHost',
      'privacyUrl',
      'contactEmail',
    ])
    .select(['aiSegmentSuggestionsEnabled', 'createdAt', 'updatedAt'])
    .where('id', '=', projectId),
);

/** Reads projects. */
@Injectable()
export class ProjectsQuery {
  constructor(private readonly database: Database) {}

  /** The project of `scope`, or null when it is gone. */
  ofScope(scope: ProjectScope): Promise<ProjectProfile | null> {
    return this.database.transaction(scope, async () => {
      const [project] = await OF_SCOPE.run(this.database.tables(), scope.projectId);
      return project === undefined ? null : { ...project, environment: scope.environment };
    });
  }

  /** Every tenant's projects, by tenant and project key. For the operator. */
  list(): Promise<ProjectWithEnvironments[]> {
    return this.database.system(async () => {
      const rows = await this.database
        .tables<AccessTables>()
        .selectFrom('access.projects as p')
        .innerJoin('access.tenants as t', 't.id', 'p.tenantId')
        .innerJoin('access.project_environments as live', (join) =>
          join.onRef('live.projectId', '=', 'p.id').on('live.environment', '=', 'LIVE'),
        )
        .innerJoin('access.project_environments as test', (join) =>
          join.onRef('test.projectId', '=', 'p.id').on('test.environment', '=', 'TEST'),
        )
        .select(['p.id', 'p.tenantId', 't.tenantKey', 'p.projectKey', 'p.name'])
        .select(['live.id as liveId', 'test.id as testId'])
        .orderBy('t.tenantKey')
        .orderBy('p.projectKey')
        .execute();
      return rows.map(({ liveId, testId, ...project }) => {
        const ids = { tenantId: project.tenantId, projectId: project.id };
        return {
          ...project,
          live: { ...ids, environmentId: liveId, environment: 'LIVE' },
          test: { ...ids, environmentId: testId, environment: 'TEST' },
        };
      });
    });
  }
}
