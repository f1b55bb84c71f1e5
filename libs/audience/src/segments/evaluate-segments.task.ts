import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, forEachApart, PeriodicTask } from '#platform';
import { UsageCatalogue } from '../usage/usage-catalogue.js';
import { SegmentEvaluations } from './segment-evaluations.service.js';
import { SegmentRepository } from './segment.repository.js';

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
    @Inject(SegmentRepository) private readonly segments: SegmentRepository,
    @Inject(SegmentEvaluations) private readonly evaluations: SegmentEvaluations,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    await forEachApart(
      this.#due(),
      ({ segmentId, ...scope }) => this.evaluations.evaluate(scope, segmentId),
      'segments could not be evaluated',
    );
  }

  async *#due(): AsyncGenerator<StaleSegment> {
    for (const segments of Map.groupBy(await this.#stale(), ({ environmentId }) => environmentId).values()) {
      const [scope] = segments;
      if (scope === undefined) continue;
      const used = await this.#used(
        scope,
        segments.map(({ segmentId }) => segmentId),
      );
      yield* segments.filter(({ segmentId, isDue }) => isDue || used.has(segmentId));
    }
  }

  #stale(): Promise<readonly StaleSegment[]> {
    const before = new Date(this.clock.now().getTime() - FRESH_MS);
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<StaleSegment>`
        select s.id as "segmentId", s.is_due as "isDue", e.tenant_id as "tenantId", e.project_id as "projectId",
          e.environment_id as "environmentId", e.environment
        from audience.segments s cross join lateral access.find_environment(s.environment_id) e
        where s.type = 'DYNAMIC' and (s.is_due or s.evaluated_at <= ${before}) and s.status <> 'ARCHIVED'
        order by s.evaluated_at nulls first, s.id
      `.execute(db);
      return rows;
    });
  }

  #used(scope: ProjectScope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.database.transaction(scope, async () => {
      const named = await this.segments.namedByOthers(scope, ids);
      return new Set([...named, ...(await this.usage.usedAmong('segment', scope, ids))]);
    });
  }
}
