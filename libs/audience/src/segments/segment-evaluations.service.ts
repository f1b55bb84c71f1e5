import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, publish } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { TRIGGERS_CHANNEL } from '../triggers.service.js';
import { SegmentDue } from './segment.events.js';
import type { Segment } from './segment.js';
import { SegmentPredicates } from './segment-predicates.service.js';
import { SegmentRepository, segmentsOf } from './segment.repository.js';
import { endSets, prepareForRules } from './set-plans.query.js';

/** Of one project, so that it never has all that evaluate. */
const AT_ONCE = 2;
/** How long a request waits for an evaluation. */
const PATIENCE_MS = 8_000;
/** PostgreSQL's query_canceled. */
const CANCELED = '57014';

/**
 * Compares the members of a dynamic segment with the previous ones, in one statement of any size, and records who entered
 * and who left. The first evaluation has nothing to compare with, so it records no entries.
 */
@Injectable()
export class SegmentEvaluations {
  constructor(
    private readonly database: Database,
    private readonly segments: SegmentRepository,
    private readonly predicates: SegmentPredicates,
    private readonly clock: Clock,
  ) {}

  /** Evaluates the segment now. A static one has nothing to evaluate. */
  evaluate(scope: ProjectScope, segmentId: string): Promise<void> {
    return this.#evaluate(scope, segmentId, null);
  }

  /** The same for a job; false when the project has as many under way as it may. */
  evaluateInTurn(scope: ProjectScope, segmentId: string): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      for (let turn = 0; turn < AT_ONCE; turn += 1) {
        if (!(await this.#takesTurn(scope, turn))) continue;
        await this.evaluate(scope, segmentId);
        return true;
      }
      return false;
    });
  }

  /** Has it until the transaction ends. */
  async #takesTurn({ environmentId }: ProjectScope, turn: number): Promise<boolean> {
    const name = `segments ${environmentId} ${turn}`;
    const { rows } = await sql<{ isTaken: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as is_taken
    `.execute(this.database.tables());
    return rows[0]?.isTaken === true;
  }

  /** The same for a waiting request; false when it would take too long, and the worker has to do it. */
  async evaluateQuickly(scope: ProjectScope, segmentId: string): Promise<boolean> {
    try {
      await this.#evaluate(scope, segmentId, PATIENCE_MS);
      return true;
    } catch (error) {
      if (!isCanceled(error)) throw error;
      await this.#askFor(scope, segmentId);
      return false;
    }
  }

  /** Hands the segment to the worker, unless somebody is evaluating it. */
  #askFor(scope: ProjectScope, segmentId: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables<AudienceTables>();
      const segment = segmentsOf(tables, scope).select('id').where('id', '=', segmentId);
      const free = segment.forNoKeyUpdate().skipLocked();
      const due = tables
        .updateTable('audience.segments')
        .set({ isDue: true })
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', free);
      const { numUpdatedRows } = await due.executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) await publish(this.database, scope, SegmentDue({ segmentId }));
    });
  }

  #evaluate(scope: ProjectScope, segmentId: string, patienceMs: number | null): Promise<void> {
    return this.database.transaction(scope, async () => {
      if (patienceMs !== null)
        await sql`select set_config('statement_timeout', ${String(patienceMs)}, true)`.execute(
          this.database.tables(),
        );
      const segment = await this.segments.lock(scope, segmentId);
      if (segment?.type !== 'DYNAMIC') return;
      const now = this.clock.now();
      const predicate = await this.predicates.anyOf(scope, [segmentId], now);
      await prepareForRules(this.database, scope, predicate);
      const memberCount =
        segment.evaluatedAt === null
          ? await this.#fill(segment, predicate, now)
          : await this.#compare(segment, predicate, now);
      await endSets(this.database);
      segment.evaluate(memberCount, now);
      await this.segments.save(segment, null);
    });
  }

  async #fill({ environmentId, id }: Segment, predicate: RawBuilder<boolean>, now: Date): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      insert into audience.segment_members (subscriber_id, segment_id, environment_id, added_at)
      select b.id, ${id}, b.environment_id, ${now} from audience.scoped_subscribers b
      where b.environment_id = ${environmentId} and ${predicate}
    `.execute(this.database.tables());
    return Number(numAffectedRows);
  }

  /**
   * A full join is hashed or merged, whatever the planner believes of a segment that has just grown: as two anti joins
   * the sets were compared row by row. Nobody changes the segment's rows meanwhile, since it is locked.
   */
  async #compare({ environmentId, id }: Segment, predicate: RawBuilder<boolean>, now: Date): Promise<number> {
    const { rows } = await sql<{ members: number; hasChanged: boolean }>`
      with current as materialized (
        select b.id from audience.scoped_subscribers b where b.environment_id = ${environmentId} and ${predicate}
      ), difference as materialized (
        select c.id as comes, m.subscriber_id as goes
        from current c full join (
          select subscriber_id from audience.segment_members
          where environment_id = ${environmentId} and segment_id = ${id}
        ) m on m.subscriber_id = c.id
        where c.id is null or m.subscriber_id is null
      ), gone as (
        delete from audience.segment_members
        where environment_id = ${environmentId} and segment_id = ${id}
          and subscriber_id = any(array(select goes from difference where goes is not null))
        returning subscriber_id
      ), come as (
        insert into audience.segment_members (subscriber_id, segment_id, environment_id, added_at)
        select comes, ${id}, ${environmentId}, ${now} from difference where comes is not null
        returning subscriber_id
      ), noted as (
        insert into audience.segment_transitions (environment_id, segment_id, subscriber_id, kind, occurred_at)
        select ${environmentId}, ${id}, t.subscriber_id, t.kind, ${now}
        from (select subscriber_id, 'LEFT' as kind from gone union all select subscriber_id, 'ENTERED' from come) t
        returning position
      )
      select count(*) as members, exists (select 1 from difference) as has_changed from current
    `.execute(this.database.tables());
    const { members, hasChanged } = rows[0]!;
    if (hasChanged) this.database.notify(TRIGGERS_CHANNEL);
    return members;
  }
}

function isCanceled(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === CANCELED) return true;
  }
  return false;
}
