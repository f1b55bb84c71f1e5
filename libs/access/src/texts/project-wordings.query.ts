import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { type ProjectScope, shippedLocale } from '#kernel';
import { Database, PreparedQuery } from '#platform';
import { Wording } from '#wording';
import type { AccessTables } from '../access-tables.js';
import { ProjectsQuery } from '../projects/projects.query.js';

/** What a project says to a reader, and the version of its own texts in it: null where all is ours. */
export interface ProjectWording {
  readonly wording: Wording;
  readonly version: number | null;
}

/** Asked for with each page and each opt-in mail. */
const LAST_TEXTS = new PreparedQuery((tables: Kysely<AccessTables>, projectId: number, locale: string) =>
  tables
    .selectFrom('access.project_texts')
    .select(['version', 'texts'])
    .where('projectId', '=', projectId)
    .where('locale', '=', locale)
    .orderBy('version', 'desc')
    .limit(1),
);

/** Finds the words for a reader: a project's own over ours. */
@Injectable()
export class ProjectWordings {
  constructor(
    private readonly database: Database,
    private readonly projects: ProjectsQuery,
  ) {}

  /** In the first of `wanted` that we speak, best first, else in the project's language. */
  of(scope: ProjectScope, wanted: readonly (string | null)[]): Promise<ProjectWording> {
    return this.database.transaction(scope, async () => {
      const project = await this.projects.ofScope(scope);
      const locale = shippedLocale([...wanted, project?.defaultLocale ?? null]) ?? 'en';
      const [last] = await LAST_TEXTS.run(this.database.tables(), scope.projectId, locale);
      return { wording: new Wording(locale, last?.texts), version: last?.version ?? null };
    });
  }
}
