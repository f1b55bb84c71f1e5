import { SegmentEvaluationsService } from '#audience';
import type { Type } from '@nestjs/common';

/** Evaluates the segments that are due, as the worker does, where a test has none. */
export async function evaluateDueSegments(get: <T>(type: Type<T>) => T): Promise<void> {
  for await (const { segmentId, ...scope } of get(SegmentEvaluationsService).due())
    await get(SegmentEvaluationsService).evaluateInTurn(scope, { segmentId });
}
