import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { environmentScopes } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import { awaiting, Database, forEachApart, PeriodicTask, publish } from '#platform';
import { UsageCatalogue } from '../usage-catalogue.service.js';
import { SegmentDue } from './segment.events.js';

/** Running every minute, it keeps evaluations of segments in use younger than five minutes. */
const EVERY_MS = 60_000;
const FRESH_MS = 200_000;

interface StaleSegment extends ProjectScope {
  readonly segmentId: string;
  readonly isDue: boolean;
}

/** What evaluates one. */
export const SEGMENT_JOB = 'evaluate-segment';

/** Hands the dynamic segments of all projects that are due to the workers: their rules changed, or something uses them. */
@Injectable()
export class EvaluateSegments extends PeriodicTask {
  override readonly name = 'evaluate-segments';
  override readonly everyMs = EVERY_MS;

  constructor(
    private readonly database: Database,
    private readonly usage: UsageCatalogue,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    await forEachApart(
      this.due(),
      ({ segmentId, ...scope }) =>
        this.database.transaction(scope, () => publish(this.database, scope, SegmentDue({ segmentId }))),
      'segments could not be handed over',
    );
  }

  /** Those that no worker has or is about to have. */
  async *due(): AsyncGenerator<StaleSegment> {
    for (const segments of Map.groupBy(await this.#stale(), ({ environmentId }) => environmentId).values()) {
      const [scope] = segments;
      if (scope === undefined) continue;
      const ids = segments.map(({ segmentId }) => segmentId);
      const used = await this.database.transaction(scope, () => this.usage.segmentsInUse(scope, ids));
      yield* segments.filter(({ segmentId, isDue }) => isDue || used.has(segmentId));
    }
  }

  #stale(): Promise<readonly StaleSegment[]> {
    const before = new Date(this.clock.now().getTime() - FRESH_MS);
    return this.database.system(async () => {
      const { rows } = await sql<StaleSegment>`
        select s.id as segment_id, s.is_due, e.tenant_id, e.project_id, e.environment_id, e.environment
        from audience.segments s join ${environmentScopes} e on e.environment_id = s.environment_id
        where s.type = 'DYNAMIC' and (s.is_due or s.evaluated_at <= ${before}) and s.status <> 'ARCHIVED'
          and s.id::text not in (${awaiting(SegmentDue.eventName, SEGMENT_JOB, 'segmentId')})
        order by s.evaluated_at nulls first, s.id
      `.execute(this.database.tables());
      return rows;
    });
  }
}
