import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { isUuid, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import type { Import, ImportCounts, ImportError } from './import.js';

type Row = Omit<Import, 'counts'> & ImportCounts;

/** Reads imports. */
@Injectable()
export class ImportsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Throws NotFoundError. */
  async byId(scope: ProjectScope, importId: string): Promise<Import> {
    const { total, created, updated, skipped, failed, ...rest } = await this.#find(scope, importId);
    return { ...rest, counts: { total, created, updated, skipped, failed } };
  }

  /** What there is to say of its rows, in their order. Throws NotFoundError. */
  errors(scope: ProjectScope, importId: string, { page, size }: PageRequest): Promise<Page<ImportError>> {
    return this.database.transaction(scope, async ({ db }) => {
      await this.#find(scope, importId);
      const matching = sql`from audience.import_errors
        where import_id = ${importId} and environment_id = ${scope.environmentId}`;
      const { rows } = await sql<Counted<ImportError>>`
        select n.total, e.* from (select count(*) as total ${matching}) n
        left join (
          select row_number as "row", email, errors ${matching}
          order by row_number limit ${size} offset ${page * size}
        ) e on true
        order by e."row"
      `.execute(db);
      return countedPage(rows, ({ row, email, errors }) => (row === null ? null : { row, email, errors }));
    });
  }

  async #find(scope: ProjectScope, importId: string): Promise<Row> {
    if (!isUuid(importId)) throw new NotFoundError();
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Row>`
        select id, status, total, created, updated, skipped, failed, failure_reason as "failureReason",
          created_at as "createdAt", completed_at as "completedAt"
        from audience.imports
        where environment_id = ${scope.environmentId} and id = ${importId} and status <> 'RECEIVING'
      `.execute(db);
      if (rows[0] === undefined) throw new NotFoundError();
      return rows[0];
    });
  }
}
