import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import type { Segment, SegmentStatus } from './segment.js';
import { isSegment, segmentColumns } from './segment.repository.js';

export interface NamedSegment {
  readonly id: string;
  readonly name: string;
  readonly status: SegmentStatus;
}

/** Reads segments. */
@Injectable()
export class SegmentsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Newest first. */
  page(scope: ProjectScope, { page, size }: PageRequest): Promise<Page<Segment>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Counted<Segment>>`
        select n.total, p.* from (
          select count(*) as total from audience.segments s where s.environment_id = ${scope.environmentId}
        ) n
        left join (
          select ${segmentColumns} from audience.segments s where s.environment_id = ${scope.environmentId}
          order by s.created_at desc, s.id desc limit ${size} offset ${page * size}
        ) p on true
        order by p."createdAt" desc, p.id desc
      `.execute(db);
      return countedPage(rows, itemOf);
    });
  }

  /** Throws NotFoundError. */
  async get(scope: ProjectScope, idOrKey: string): Promise<Segment> {
    const isWanted = isSegment(idOrKey);
    if (isWanted === null) throw new NotFoundError();
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Segment>`
        select ${segmentColumns} from audience.segments s where s.environment_id = ${scope.environmentId} and ${isWanted}
      `.execute(db);
      if (rows[0] === undefined) throw new NotFoundError();
      return rows[0];
    });
  }

  /** Those of the ids that are segments of this project, in no order. */
  async named(scope: ProjectScope, segmentIds: readonly string[]): Promise<readonly NamedSegment[]> {
    if (segmentIds.length === 0) return [];
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<NamedSegment>`
        select id, name, status from audience.segments
        where environment_id = ${scope.environmentId} and id = any(${[...segmentIds]}::uuid[])
      `.execute(db);
      return rows;
    });
  }
}

function itemOf({ total: _total, ...row }: Counted<Segment>): Segment | null {
  return row.id === null ? null : row;
}
