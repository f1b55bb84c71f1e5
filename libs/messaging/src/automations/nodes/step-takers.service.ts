import { Injectable } from '@nestjs/common';
import type { NodeType } from '../graph/automation-graph.js';
import type { PersonAtStep, StepContext, StepResult, StepTaker } from './step.js';
import type { PlannedStep } from './version-plan.js';
import { EmailStep } from './email-step.service.js';
import { DelayStep, SplitStep, TriggerStep, WebhookStep } from './plain-steps.js';
import { RuleSteps } from './rule-steps.service.js';
import { SegmentStep } from './segment-step.service.js';
import { TopicStep } from './topic-step.service.js';

type Takers = { readonly [Type in NodeType]: StepTaker<Type> };

/** Dispatches the steps of each type. */
@Injectable()
export class StepTakers {
  readonly #takers: Takers;

  constructor(email: EmailStep, rules: RuleSteps, topics: TopicStep, segments: SegmentStep) {
    this.#takers = {
      trigger: new TriggerStep(),
      email,
      delay: new DelayStep(),
      condition: rules,
      ab_split: new SplitStep(),
      goal: rules,
      webhook: new WebhookStep(),
      topic_action: topics,
      segment_action: segments,
    };
  }

  async take<Type extends NodeType>(
    step: PlannedStep<Type>,
    people: readonly PersonAtStep[],
    context: StepContext,
  ): Promise<readonly StepResult[]> {
    const taker: StepTaker<Type> = this.#takers[step.type];
    return taker.take(step, people, context);
  }
}
