import { Injectable } from '@nestjs/common';
import { SEGMENT_JOB, SegmentDue, SegmentEvaluations } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { done, type JobResult, snooze, TransactionalJob } from '#platform';

const NEXT_TURN_MS = 2_000;

/** Evaluates one segment. Those of a project that has enough under way wait for their turn. */
@Injectable()
export class EvaluateSegment extends TransactionalJob<{ segmentId: string }> {
  override readonly name = SEGMENT_JOB;
  override readonly queue = 'segments';
  override readonly on = SegmentDue;

  constructor(
    private readonly evaluations: SegmentEvaluations,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async handle(scope: ProjectScope, { segmentId }: { segmentId: string }): Promise<JobResult> {
    const isEvaluated = await this.evaluations.evaluateInTurn(scope, segmentId);
    return isEvaluated ? done : snooze(new Date(this.clock.now().getTime() + NEXT_TURN_MS));
  }
}
