import { Injectable } from '@nestjs/common';
import { SegmentEvaluations, SegmentsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import type { AutomationFields } from '../automation.js';
import type { AutomationWarning } from '../automation.errors.js';
import { AutomationsQuery } from '../automations.query.js';
import { type AutomationGraph, isOf } from '../graph/automation-graph.js';
import { GraphFaults } from '../graph/graph-faults.js';
import { readGraph } from '../graph/graph-reader.js';
import { namedIn, readConfig } from '../graph/node-config.js';
import { MailChecks } from './mail-checks.service.js';

/** Does before an activation what takes too long while the automation is locked. Not within a transaction. */
@Injectable()
export class AutomationPreparation {
  constructor(
    private readonly automations: AutomationsQuery,
    private readonly segments: SegmentsQuery,
    private readonly evaluations: SegmentEvaluations,
    private readonly mails: MailChecks,
  ) {}

  /**
   * Checks the content, so that the check of the locked automation need not wait for it: what its mails lose. Does nothing for one
   * that is ACTIVE already: whoever entered its segment meanwhile is to enter it. Throws NotFoundError.
   */
  async prepare(
    scope: ProjectScope,
    idOrKey: string,
    fields: Partial<AutomationFields> = {},
  ): Promise<readonly AutomationWarning[]> {
    const automation = await this.automations.get(scope, idOrKey);
    if (automation.status !== 'DRAFT' && automation.status !== 'PAUSED') return [];
    const { graph } = readGraph(automation);
    if (graph === undefined) return [];
    const { triggerType = automation.triggerType } = fields;
    if (triggerType === 'segment_entered' || triggerType === 'segment_left')
      await this.#evaluateSegment(scope, graph);
    await this.#checkBodies(scope, graph);
    return this.mails.warnings(scope, graph);
  }

  /**
   * Evaluates the trigger's segment right before the automation watches it: the next evaluation would otherwise report
   * people who entered or left it before. Where this takes too long, the worker does it within a minute.
   */
  async #evaluateSegment(scope: ProjectScope, { nodes }: AutomationGraph): Promise<void> {
    const trigger = nodes.find((node) => isOf(node, 'trigger'));
    const key = trigger && readConfig(trigger, '', new GraphFaults())?.segmentKey;
    const segment = key == null ? null : await this.segments.find(scope, key);
    if (segment !== null) await this.evaluations.evaluateQuickly(scope, segment.id);
  }

  async #checkBodies(scope: ProjectScope, { nodes }: AutomationGraph): Promise<void> {
    const rules = await this.mails.rules(scope);
    for (const node of nodes)
      if (isOf(node, 'webhook')) await this.mails.bodyFaults(scope, namedIn(node).body, rules);
  }
}
