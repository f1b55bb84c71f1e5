import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { isUuid, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, limitOf, NEWEST_FIRST, totalOf } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import { isSegmentKey, type Segment } from './segment.js';
import { segmentOf, segmentsOf } from './segment.repository.js';

export type SegmentView = Pick<Segment, (typeof COLUMNS)[number]>;

export type NamedSegment = Pick<Segment, 'id' | 'name' | 'status'>;

const COLUMNS = [
  'id',
  'segmentKey',
  'name',
  'description',
  'type',
  'rules',
  'status',
  'memberCount',
  'createdAt',
  'updatedAt',
] as const;

/** Reads segments. */
@Injectable()
export class SegmentsQuery {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  page(scope: ProjectScope, request: PageRequest): Promise<Page<SegmentView>> {
    const segments = sql`from audience.segments where environment_id = ${scope.environmentId}`;
    return this.database.read(scope, { isList: true }, async () => {
      const { rows } = await sql<Counted<SegmentView>>`
        select n.total, p.*
        from (select ${totalOf(request, sql`(select count(*) ${segments})`)} as total) n
        left join (
          select id, segment_key, name, description, type, rules, status, member_count, created_at, updated_at,
            ${NEWEST_FIRST.place} as place
          ${segments} and ${NEWEST_FIRST.isBehind(request)} order by ${NEWEST_FIRST.by} ${limitOf(request)}
        ) p on true
        order by p.created_at desc, p.id desc
      `.execute(this.database.tables());
      return countedPage(rows, request);
    });
  }

  /** Null when there is none. */
  find(scope: ProjectScope, idOrKey: string): Promise<SegmentView | null> {
    return this.database.transaction(scope, async () => {
      const query = segmentOf(this.database.tables(), scope, idOrKey)?.select(COLUMNS);
      return (await query?.executeTakeFirst()) ?? null;
    });
  }

  /** Throws NotFoundError. */
  async get(scope: ProjectScope, idOrKey: string): Promise<SegmentView> {
    const segment = await this.find(scope, idOrKey);
    if (segment === null) throw new NotFoundError();
    return segment;
  }

  /** The segments of this project among these ids and keys, by what was given. */
  async chosen(
    scope: ProjectScope,
    idsOrKeys: readonly string[],
  ): Promise<ReadonlyMap<string, Pick<NamedSegment, 'id' | 'status'>>> {
    if (idsOrKeys.length === 0) return new Map();
    return this.database.transaction(scope, async () => {
      const rows = await segmentsOf(this.database.tables(), scope)
        .select(['id', 'segmentKey', 'status'])
        .where((eb) =>
          eb.or([
            eb('id', '=', sql<string>`any(${idsOrKeys.filter(isUuid)}::uuid[])`),
            eb('segmentKey', '=', sql<string>`any(${idsOrKeys.filter(isSegmentKey)}::text[])`),
          ]),
        )
        .execute();
      return new Map(rows.flatMap((one) => [[one.id, one] as const, [one.segmentKey, one] as const]));
    });
  }

  /** The segments of this project among these ids, in no order. */
  async named(scope: ProjectScope, segmentIds: readonly string[]): Promise<readonly NamedSegment[]> {
    if (segmentIds.length === 0) return [];
    return this.database.transaction(scope, () =>
      segmentsOf(this.database.tables(), scope)
        .select(['id', 'name', 'status'])
        .where('id', 'in', segmentIds)
        .execute(),
    );
  }
}
