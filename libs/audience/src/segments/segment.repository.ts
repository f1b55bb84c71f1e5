import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { isUuid, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { isSegmentKey, Segment } from './segment.js';

/** The segments that the rules of a segment name, and the number of their conditions. */
export interface RuleLinks {
  readonly conditionCount: number;
  readonly segmentIds: readonly string[];
}

export function segmentsOf(tables: Kysely<AudienceTables>, { environmentId }: ProjectScope) {
  return tables.selectFrom('audience.segments').where('environmentId', '=', environmentId);
}

/** The condition for this id or key; null when it can be neither. */
export function segmentOf(tables: Kysely<AudienceTables>, scope: ProjectScope, idOrKey: string) {
  const isId = isUuid(idOrKey);
  if (!isId && !isSegmentKey(idOrKey)) return null;
  return segmentsOf(tables, scope).where(isId ? 'id' : 'segmentKey', '=', idOrKey);
}

/** Reads and writes the segments of a project in the open transaction. */
@Injectable()
export class SegmentRepository {
  constructor(private readonly database: Database) {}

  /** Serialises transactions that change which segments name which: two at once could form a cycle. */
  async lockLinks({ environmentId }: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`segments:${environmentId}`}, 0))`.execute(
      this.#tables,
    );
  }

  /**
   * Finds a segment and locks it against changes by others until the transaction ends, but not against references. The
   * unit of work has no such lock. Null when there is none.
   */
  async lock(scope: ProjectScope, idOrKey: string): Promise<Segment | null> {
    const row = await segmentOf(this.#tables, scope, idOrKey)
      ?.selectAll()
      .forNoKeyUpdate()
      .executeTakeFirst();
    return row === undefined ? null : this.database.em.map(Segment, row, { mapped: true });
  }

  /** Writes a segment, and what its rules name if they are new. */
  async save(segment: Segment, links: RuleLinks | null): Promise<void> {
    segment.conditionCount = links?.conditionCount ?? segment.conditionCount;
    await this.database.em.persist(segment).flush();
    if (links === null) return;
    const { id: segmentId, environmentId } = segment;
    await this.#tables
      .deleteFrom('audience.segment_references')
      .where('environmentId', '=', environmentId)
      .where('segmentId', '=', segmentId)
      .execute();
    if (links.segmentIds.length === 0) return;
    await this.#tables
      .insertInto('audience.segment_references')
      .values(links.segmentIds.map((usedSegmentId) => ({ segmentId, usedSegmentId, environmentId })))
      .execute();
  }

  async delete(segment: Segment): Promise<void> {
    await this.database.em.remove(segment).flush();
  }

  get #tables() {
    return this.database.tables<AudienceTables>();
  }
}
