import { Injectable } from '@nestjs/common';
import { SubscriberRules } from '#audience';
import { onwards, type PersonAtStep, type StepContext, type StepResult, type StepTaker } from './step.js';
import type { PlannedStep } from './version-plan.js';

/** Evaluates rules for all subscribers of a batch at once. */
@Injectable()
export class RuleSteps implements StepTaker<'condition' | 'goal'> {
  constructor(private readonly rules: SubscriberRules) {}

  async take(
    step: PlannedStep<'condition' | 'goal'>,
    people: readonly PersonAtStep[],
    { plan, now }: StepContext,
  ): Promise<readonly StepResult[]> {
    const ids = people.map(({ subscriberId }) => subscriberId);
    const holding = await this.rules.holdingFor(plan.scope, step.config.rules, ids, now);
    return people.map(({ subscriberId }) => {
      const holds = holding.has(subscriberId);
      if (step.type === 'condition') return onwards(holds ? 'yes' : 'no', 'DONE', holds ? 'yes' : 'no');
      return holds ? { kind: 'convert', detail: step.config.name } : onwards('not reached');
    });
  }
}
