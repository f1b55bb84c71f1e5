import { Injectable } from '@nestjs/common';
import { RecipientsQuery, SegmentMembersService, SegmentsQuery } from '#audience';
import { onwards, type PersonAtStep, type StepContext, type StepResult, type StepTaker } from './step.js';
import type { PlannedStep } from './version-plan.js';

/** Adds subscribers to a static segment, or removes them. */
@Injectable()
export class SegmentStep implements StepTaker<'segment_action'> {
  constructor(
    private readonly members: SegmentMembersService,
    private readonly segments: SegmentsQuery,
    private readonly recipients: RecipientsQuery,
  ) {}

  async take(
    { config: { action, segmentKey } }: PlannedStep<'segment_action'>,
    people: readonly PersonAtStep[],
    { plan: { scope }, now }: StepContext,
  ): Promise<readonly StepResult[]> {
    if ((await this.segments.find(scope, segmentKey))?.type !== 'STATIC')
      return people.map(() => onwards('the segment is gone', 'SKIPPED'));
    const ids = people.map(({ subscriberId }) => subscriberId);
    const known = await this.recipients.lookUp(scope, [], ids, now);
    const subscriberIds = ids.filter((id) => known.has(id));
    if (subscriberIds.length > 0) await this.members[action](scope, segmentKey, { subscriberIds });
    return ids.map((id) => (known.has(id) ? onwards() : onwards('erased', 'SKIPPED')));
  }
}
