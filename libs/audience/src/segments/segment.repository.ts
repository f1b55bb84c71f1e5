import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { isUuid, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { isSegmentKey, type Segment, type SegmentFields, type SegmentType } from './segment.js';

/** The columns of a `Segment`, of a table called `s`. */
export const segmentColumns = sql`s.id, s.segment_key as "segmentKey", s.name, s.description, s.type, s.rules, s.status,
  s.member_count as "memberCount", s.created_at as "createdAt", s.updated_at as "updatedAt"`;

/** What the rules of a segment come to. */
export interface RuleLinks {
  readonly conditionCount: number;
  readonly segmentIds: readonly string[];
}

/** The one segment of this id or key, of a table called `s`; null when none can be meant. */
export function isSegment(idOrKey: string): RawBuilder<unknown> | null {
  if (isUuid(idOrKey)) return sql`s.id = ${idOrKey}::uuid`;
  return isSegmentKey(idOrKey) ? sql`s.segment_key = ${idOrKey}` : null;
}

/** The segments of a project, to change them. */
@Injectable()
export class SegmentRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Lets only one transaction at a time decide which segments name which: two could else close a cycle together. */
  lockLinks(scope: ProjectScope): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${`segments:${scope.environmentId}`}, 0))`.execute(
        db,
      );
    });
  }

  insert(scope: ProjectScope, id: string, type: SegmentType, fields: SegmentFields, at: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        insert into audience.segments (id, environment_id, segment_key, name, description, type, status, rules,
          member_count, is_due, created_at, updated_at)
        values (${id}, ${scope.environmentId}, access.next_key('segment'), ${fields.name}, ${fields.description}, ${type},
          ${fields.status}, ${fields.rules}, ${type === 'STATIC' ? 0 : null}, ${type === 'DYNAMIC'}, ${at}, ${at})
      `.execute(db);
    });
  }

  /** Writes all fields. With `isDue` the rules are evaluated anew. */
  update(scope: ProjectScope, id: string, fields: SegmentFields, isDue: boolean, at: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update audience.segments set name = ${fields.name}, description = ${fields.description}, status = ${fields.status},
          rules = ${fields.rules}, is_due = is_due or ${isDue}, updated_at = ${at}
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  /** Writes down how many conditions the rules have and which segments they name. */
  link(scope: ProjectScope, id: string, { conditionCount, segmentIds }: RuleLinks): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update audience.segments set condition_count = ${conditionCount}
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
      await sql`
        delete from audience.segment_references where environment_id = ${scope.environmentId} and segment_id = ${id}
      `.execute(db);
      await sql`
        insert into audience.segment_references (segment_id, used_segment_id, environment_id)
        select ${id}, used, ${scope.environmentId} from unnest(${[...segmentIds]}::uuid[]) as used
      `.execute(db);
    });
  }

  delete(scope: ProjectScope, id: string): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        delete from audience.segments where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  /** The segment, kept from change by others until the transaction ends; null when there is none. */
  async lock(scope: ProjectScope, idOrKey: string): Promise<Segment | null> {
    const isWanted = isSegment(idOrKey);
    if (isWanted === null) return null;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Segment>`
        select ${segmentColumns} from audience.segments s
        where s.environment_id = ${scope.environmentId} and ${isWanted} for no key update
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** Those of the ids that other segments name. */
  namedByOthers(scope: ProjectScope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ id: string }>`
        select distinct used_segment_id as id from audience.segment_references
        where environment_id = ${scope.environmentId} and used_segment_id = any(${[...ids]}::uuid[])
      `.execute(db);
      return new Set(rows.map(({ id }) => id));
    });
  }
}
