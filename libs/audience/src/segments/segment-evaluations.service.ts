import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { environmentScopes } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import {
  before,
  Database,
  done,
  enqueue,
  forEachApart,
  Job,
  type JobResult,
  jobType,
  openJobs,
  Periodic,
  removeOldRows,
  snooze,
  SQL_STATE,
  sqlStateOf,
} from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { plannedForRules } from '../rules/set-plans.query.js';
import { SubscriberRulesService } from '../rules/subscriber-rules.service.js';
import { TRIGGERS_CHANNEL } from '../triggers.service.js';
import { UsageCatalogueService } from '../usage-catalogue.service.js';
import type { Segment } from './segment.js';
import { SegmentRepository, segmentsOf } from './segment.repository.js';

/** Evaluates a dynamic segment when its turn has come. */
export const evaluateSegment = jobType<{ segmentId: string }>('segments.evaluate', 'segments');

/** Evaluations of one project at once, so that it never takes all workers. */
const AT_ONCE = 2;
/** Delay of a segment whose project has enough under way. */
const NEXT_TURN_MS = 2_000;
/** Time that a request waits for an evaluation. */
const PATIENCE_MS = 8_000;
/** Looked for every minute, evaluations of segments in use stay younger than five. */
const EVERY_MS = 60_000;
const FRESH_MS = 200_000;
const HISTORY_KEPT_MS = 7 * 24 * 3_600_000;

interface StaleSegment extends ProjectScope {
  readonly segmentId: string;
  readonly isDue: boolean;
}

/**
 * Compares the members of a dynamic segment with the previous ones, in one statement of any size, and records who entered
 * and who left. The first evaluation has nothing to compare with, so it records no entries.
 */
@Injectable()
export class SegmentEvaluationsService {
  constructor(
    private readonly database: Database,
    private readonly segments: SegmentRepository,
    private readonly rules: SubscriberRulesService,
    private readonly usage: UsageCatalogueService,
    private readonly clock: Clock,
  ) {}

  /** Evaluates the segment now. A static one has nothing to evaluate. */
  evaluate(scope: ProjectScope, segmentId: string): Promise<void> {
    return this.#evaluate(scope, segmentId, null);
  }

  /** The same in a job, which waits while the project has its share of evaluations under way. */
  @Job(evaluateSegment)
  evaluateInTurn(scope: ProjectScope, { segmentId }: { segmentId: string }): Promise<JobResult> {
    return this.database.transaction(scope, async () => {
      for (let turn = 0; turn < AT_ONCE; turn += 1) {
        if (!(await this.#takesTurn(scope, turn))) continue;
        await this.evaluate(scope, segmentId);
        return done;
      }
      return snooze(new Date(this.clock.now().getTime() + NEXT_TURN_MS));
    });
  }

  /** Takes a turn until the transaction ends; false when it is taken. */
  async #takesTurn({ environmentId }: ProjectScope, turn: number): Promise<boolean> {
    const name = `segments ${environmentId} ${turn}`;
    const { rows } = await sql<{ isTaken: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as is_taken
    `.execute(this.database.tables());
    return rows[0]?.isTaken === true;
  }

  /** The same for a waiting request; false when it would take too long and is left to the worker. */
  async evaluateQuickly(scope: ProjectScope, segmentId: string): Promise<boolean> {
    try {
      await this.#evaluate(scope, segmentId, PATIENCE_MS);
      return true;
    } catch (error) {
      if (!isCanceled(error)) throw error;
      await this.#requestEvaluation(scope, segmentId);
      return false;
    }
  }

  /** Hands the segment to the worker, unless it is being evaluated. */
  #requestEvaluation(scope: ProjectScope, segmentId: string): Promise<void> {
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
      if (numUpdatedRows > 0n) await enqueue(this.database, scope, evaluateSegment({ segmentId }));
    });
  }

  /** Hands due dynamic segments of all projects to the workers: their rules changed, or something uses them. */
  @Periodic('evaluate-segments', { everyMs: EVERY_MS })
  async requestDue(): Promise<void> {
    await forEachApart(
      this.due(),
      ({ segmentId, ...scope }) =>
        this.database.transaction(scope, () => enqueue(this.database, scope, evaluateSegment({ segmentId }))),
      'segments could not be handed over',
    );
  }

  /** The due segments that no worker has or is about to get. */
  async *due(): AsyncGenerator<StaleSegment> {
    for (const segments of Map.groupBy(await this.#stale(), ({ environmentId }) => environmentId).values()) {
      const [scope] = segments;
      if (scope === undefined) continue;
      const ids = segments.map(({ segmentId }) => segmentId);
      const used = await this.database.transaction(scope, () => this.usage.segmentsInUse(scope, ids));
      yield* segments.filter(({ segmentId, isDue }) => isDue || used.has(segmentId));
    }
  }

  /** Removes old entries and exits, and abandoned frozen audiences. */
  @Periodic('trim-segment-history', { everyMs: 3_600_000 })
  trimHistory(): Promise<void> {
    const oldest = before(this.clock.now(), HISTORY_KEPT_MS);
    const forgotten = sql`select id, environment_id from audience.frozen_audiences where frozen_at < ${oldest}`;
    return removeOldRows(
      this.database,
      { table: 'audience.segment_transitions', where: sql`occurred_at < ${oldest}` },
      {
        table: 'audience.frozen_audience_members',
        where: sql`(audience_id, environment_id) in (${forgotten})`,
      },
      { table: 'audience.frozen_audiences', where: sql`frozen_at < ${oldest}` },
    );
  }

  #stale(): Promise<readonly StaleSegment[]> {
    const staleBefore = new Date(this.clock.now().getTime() - FRESH_MS);
    return this.database.system(async () => {
      const { rows } = await sql<StaleSegment>`
        select s.id as segment_id, s.is_due, e.tenant_id, e.project_id, e.environment_id, e.environment
        from audience.segments s join ${environmentScopes} e on e.environment_id = s.environment_id
        where s.type = 'DYNAMIC' and (s.is_due or s.evaluated_at <= ${staleBefore}) and s.status <> 'ARCHIVED'
          and s.id::text not in (${openJobs(evaluateSegment, 'segmentId')})
        order by s.evaluated_at nulls first, s.id
      `.execute(this.database.tables());
      return rows;
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
      const predicate = await this.rules.anyOf(scope, [segmentId], now);
      const memberCount = await plannedForRules(this.database, scope, predicate, () =>
        segment.evaluatedAt === null
          ? this.#fill(segment, predicate, now)
          : this.#compare(segment, predicate, now),
      );
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
   * A full join is always hashed or merged; two anti joins were compared row by row for a segment that has just grown.
   * The lock of the segment keeps its rows from others.
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
    if (sqlStateOf(cause) === SQL_STATE.queryCanceled) return true;
  }
  return false;
}
