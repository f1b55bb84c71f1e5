import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, PeriodicTask } from '#platform';
import { UsageCatalogue } from '../usage/usage-catalogue.js';
import { SegmentEvaluations } from './segment-evaluations.service.js';

/** With a turn a minute, no evaluation of a segment in use is older than five minutes. */
const EVERY_MS = 60_000;
const FRESH_MS = 200_000;

interface StaleSegment extends ProjectScope {
  readonly segmentId: string;
  readonly isDue: boolean;
}

/** Evaluates the dynamic segments of all projects that are due: their rules changed, or something uses them. */
@Injectable()
export class EvaluateSegments extends PeriodicTask {
  override readonly name = 'evaluate-segments';
  override readonly everyMs = EVERY_MS;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(UsageCatalogue) private readonly usage: UsageCatalogue,
    @Inject(SegmentEvaluations) private readonly evaluations: SegmentEvaluations,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  /** One that fails does not keep the others; all that failed are told at the end. */
  override async run(): Promise<void> {
    const failures: unknown[] = [];
    for (const segments of Map.groupBy(await this.#stale(), ({ environmentId }) => environmentId).values()) {
      const [scope] = segments;
      if (scope === undefined) continue;
      const ids = segments.map(({ segmentId }) => segmentId);
      const used = await this.database.transaction(scope, () => this.usage.usedAmong('segment', scope, ids));
      for (const { segmentId, isDue } of segments) {
        if (!isDue && !used.has(segmentId)) continue;
        await this.evaluations.evaluate(scope, segmentId).catch((error: unknown) => failures.push(error));
      }
    }
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} segments could not be evaluated.`);
  }

  #stale(): Promise<readonly StaleSegment[]> {
    const before = new Date(this.clock.now().getTime() - FRESH_MS);
    return this.database.system(async () => {
      const { rows } = await sql<StaleSegment>`
        select s.id as segment_id, s.is_due, e.tenant_id, e.project_id, e.environment_id, e.environment
        from audience.segments s cross join lateral access.find_environment(s.environment_id) e
        where s.type = 'DYNAMIC' and (s.is_due or s.evaluated_at <= ${before}) and s.status <> 'ARCHIVED'
        order by s.evaluated_at nulls first, s.id
      `.execute(this.database.tables());
      return rows;
    });
  }
}
