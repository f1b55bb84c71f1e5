import { Inject, Injectable } from '@nestjs/common';
import { SegmentEvaluations, SegmentsQuery, type SegmentView } from '#audience';
import { NotFoundError, type ProjectScope } from '#kernel';
import type { AutomationState } from '../automation.js';
import { isOf } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/graph-faults.js';
import { readGraph } from '../graph/graph-reader.js';
import { readConfig } from '../graph/node-config.js';

/** The segment whose coming and going lets people into an automation. */
@Injectable()
export class TriggerSegments {
  constructor(
    @Inject(SegmentsQuery) private readonly segments: SegmentsQuery,
    @Inject(SegmentEvaluations) private readonly evaluations: SegmentEvaluations,
  ) {}

  /**
   * Looks who is in the segment right before the automation waits for it: the next evaluation would otherwise tell of
   * people who came or went before. A faulty automation has nothing to look at. Not within a transaction: where it takes
   * too long, the worker does it within a minute.
   */
  async lookBeforeWaiting(
    scope: ProjectScope,
    automation: Pick<AutomationState, 'triggerType' | 'nodes' | 'edges'>,
  ): Promise<void> {
    const key = triggerSegmentKey(automation);
    const segment = key === null ? null : await this.#find(scope, key);
    if (segment !== null) await this.evaluations.evaluateQuickly(scope, segment.id);
  }

  async #find(scope: ProjectScope, key: string): Promise<SegmentView | null> {
    try {
      return await this.segments.get(scope, key);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }
}

function triggerSegmentKey({
  triggerType,
  nodes,
  edges,
}: Pick<AutomationState, 'triggerType' | 'nodes' | 'edges'>): string | null {
  const isBySegment = triggerType === 'segment_entered' || triggerType === 'segment_left';
  if (!isBySegment || nodes === null || edges === null) return null;
  const trigger = readGraph({ nodes, edges }).graph?.nodes.find((node) => isOf(node, 'trigger'));
  return trigger === undefined ? null : (readConfig(trigger, '', new GraphFaults())?.segmentKey ?? null);
}
