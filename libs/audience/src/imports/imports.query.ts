import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { isUuid, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, limitOf, ListOrder, totalOf } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { type Counted, countedPage } from '../counted-page.js';
import type { ImportError, ImportKind, ImportStatus, ImportView } from './import.js';

const ROWS_IN_ORDER = new ListOrder([['row_number', 'bigint']], 'asc');

/** Reads imports. */
@Injectable()
export class ImportsQuery {
  constructor(private readonly database: Database) {}

  /** Throws NotFoundError. */
  byId(scope: ProjectScope, importId: string, kind: ImportKind = 'SUBSCRIBERS'): Promise<ImportView> {
    return this.database.transaction(scope, async () => {
      if (!isUuid(importId)) throw new NotFoundError();
      const { total, created, updated, skipped, failed, ...rest } = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.imports')
        .select(['id', 'status', 'failureReason', 'createdAt', 'completedAt'])
        .select(['total', 'created', 'updated', 'skipped', 'failed'])
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', importId)
        .where('status', '<>', 'RECEIVING')
        .where('suppressionReason', kind === 'SUBSCRIBERS' ? 'is' : 'is not', null)
        .$narrowType<{ status: ImportStatus }>()
        .executeTakeFirstOrThrow(() => new NotFoundError());
      return { ...rest, counts: { total, created, updated, skipped, failed } };
    });
  }

  /** The errors and notes about its rows, in order. Throws NotFoundError. */
  errors(
    scope: ProjectScope,
    importId: string,
    request: PageRequest,
    kind: ImportKind = 'SUBSCRIBERS',
  ): Promise<Page<ImportError>> {
    return this.database.read(scope, { isList: true }, async () => {
      await this.byId(scope, importId, kind);
      const matching = sql`from audience.import_errors
        where import_id = ${importId} and environment_id = ${scope.environmentId}`;
      const { rows } = await sql<Counted<ImportError>>`
        select n.total, e.* from (select ${totalOf(request, sql`(select count(*) ${matching})`)} as total) n
        left join (
          select row_number as "row", line, email, errors, ${ROWS_IN_ORDER.place} as place
          ${matching} and ${ROWS_IN_ORDER.isBehind(request)} order by ${ROWS_IN_ORDER.by} ${limitOf(request)}
        ) e on true
        order by e."row"
      `.execute(this.database.tables());
      return countedPage(rows, request);
    });
  }
}
