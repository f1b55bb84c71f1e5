import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import {
  DomainValidationError,
  type Environment,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database, ListOrder, named, PreparedQuery, unlessTaken } from '#platform';
import type { AccessTables } from './access-tables.js';
import {
  PROFILE_FIELDS,
  Project,
  ProjectAlreadyExistsError,
  type ProjectProfile,
  type ProjectWithEnvironments,
} from './project.js';

/** Reads and writes projects in the open transaction. */
@Injectable()
export class ProjectRepository {
  constructor(private readonly database: Database) {}

  /** Throws `ProjectAlreadyExistsError`; the transaction is lost then. */
  add(project: Project): Promise<void> {
    return unlessTaken(
      this.database.em.persist(project).flush(),
      () => new ProjectAlreadyExistsError(project.projectKey),
    );
  }

  /** Writes changes. Throws `DomainValidationError` for another project's tracking host; the transaction is lost then. */
  save(): Promise<void> {
    return unlessTaken(
      this.database.em.flush(),
      () => new DomainValidationError({ trackingHost: 'is the tracking host of another project' }),
    );
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

/** Prepared, as each page and each webhook of an automation reads it. */
const OF_SCOPE = new PreparedQuery('project_of_scope', (tables: Kysely<AccessTables>, projectId: number) =>
  tables.selectFrom('access.projects').select(PROFILE_FIELDS).where('id', '=', projectId),
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
      const rows = this.#all.select(WITH_ENVIRONMENTS).orderBy('t.tenantKey').orderBy('p.projectKey');
      return (await rows.execute()).map(withEnvironments);
    });
  }

  /** A page of them, of one tenant or of all. */
  page(tenantId: number | undefined, request: PageRequest): Promise<Page<ProjectWithEnvironments>> {
    return this.database.system(async () => {
      const projects = tenantId === undefined ? this.#all : this.#all.where('p.tenantId', '=', tenantId);
      const page = await BY_KEYS.page(projects.select(WITH_ENVIRONMENTS), projects, request);
      return { ...page, items: page.items.map(withEnvironments) };
    });
  }

  /** One of them. Throws `NotFoundError`. */
  async find(projectId: number): Promise<ProjectWithEnvironments> {
    const row = await this.database.system(() =>
      this.#all.select(WITH_ENVIRONMENTS).where('p.id', '=', projectId).executeTakeFirst(),
    );
    if (row === undefined) throw new NotFoundError();
    return withEnvironments(row);
  }

  get #all() {
    return this.database
      .tables<AccessTables>()
      .selectFrom('access.projects as p')
      .innerJoin('access.tenants as t', 't.id', 'p.tenantId')
      .innerJoin('access.project_environments as live', (join) =>
        join.onRef('live.projectId', '=', 'p.id').on('live.environment', '=', 'LIVE'),
      )
      .innerJoin('access.project_environments as test', (join) =>
        join.onRef('test.projectId', '=', 'p.id').on('test.environment', '=', 'TEST'),
      );
  }
}

const BY_KEYS = new ListOrder(
  [
    ['t.tenant_key', 'text'],
    ['p.project_key', 'text'],
  ],
  'asc',
);

const WITH_ENVIRONMENTS = [
  'p.id',
  'p.tenantId',
  't.tenantKey',
  'p.projectKey',
  'p.name',
  'p.createdAt',
  'p.updatedAt',
  'live.id as liveId',
  'test.id as testId',
] as const;

function withEnvironments({
  liveId,
  testId,
  ...project
}: Omit<ProjectWithEnvironments, 'live' | 'test'> & { readonly liveId: number; readonly testId: number }) {
  const ids = { tenantId: project.tenantId, projectId: project.id };
  return {
    ...project,
    live: { ...ids, environmentId: liveId, environment: 'LIVE' },
    test: { ...ids, environmentId: testId, environment: 'TEST' },
  } as const;
}

const CACHED_ENVIRONMENTS = 10_000;

/**
 * The scopes of all environments, for statements of the system to join: `tenant_id`, `project_id`, `environment_id` and
 * `environment`. Each node of a cluster has these tables.
 */
export const environmentScopes: RawBuilder<unknown> = sql`(
  select p.tenant_id, p.id as project_id, e.id as environment_id, e.environment
  from access.project_environments e join access.projects p on p.id = e.project_id
)`;

/** Columns of a `ProjectScope`, of `environmentScopes e`. */
export const scopeColumns: RawBuilder<unknown> = sql`
  e.tenant_id, e.project_id, e.environment_id, e.environment
`;

/** Finds the scope of an environment for work that knows only its id: a signed link, a job's row. */
@Injectable()
export class EnvironmentsQuery {
  /** Known environments; they never change and are never removed. */
  readonly #known = new LRUCache<number, ProjectScope>({ max: CACHED_ENVIRONMENTS });

  constructor(private readonly database: Database) {}

  /** The scope of an environment, or null when there is no such one. */
  async find(environmentId: number): Promise<ProjectScope | null> {
    const known = this.#known.get(environmentId);
    if (known !== undefined) return known;
    if (!Number.isSafeInteger(environmentId)) return null;
    // A function of its own, since an id is looked up before there is a scope.
    const [row] = await this.database.statement(
      'unscoped',
      sql<ProjectScope>`${named('find_environment')}
        select tenant_id, project_id, environment_id, environment
        from access.find_environment(${environmentId})`,
    );
    const scope = row ?? null;
    if (scope !== null) this.#known.set(environmentId, Object.freeze(scope));
    return scope;
  }
}
