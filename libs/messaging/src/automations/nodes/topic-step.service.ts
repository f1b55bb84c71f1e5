import { Injectable } from '@nestjs/common';
import { ConsentsService, type ConsentOutcomes } from '#audience';
import { onwards, type PersonAtStep, type StepContext, type StepResult, type StepTaker } from './step.js';
import type { PlannedStep } from './version-plan.js';

type Outcome = ConsentOutcomes extends ReadonlyMap<string, infer One> ? One : never;

const SKIPPED: Partial<Record<Outcome, string>> = {
  refused: 'unsubscribed before, and stays so',
  suppressed: 'suppressed',
  'no-topic': 'the topic is gone or not active',
};

/** Subscribes subscribers to a topic, or unsubscribes them. */
@Injectable()
export class TopicStep implements StepTaker<'topic_action'> {
  constructor(private readonly consents: ConsentsService) {}

  async take(
    { config: { action, topicKey } }: PlannedStep<'topic_action'>,
    people: readonly PersonAtStep[],
    { plan }: StepContext,
  ): Promise<readonly StepResult[]> {
    const ids = people.map(({ subscriberId }) => subscriberId);
    const change = action === 'subscribe' ? 'grantForAutomation' : 'revokeForAutomation';
    const outcomes = await this.consents[change](plan.scope, ids, topicKey, plan.automationId);
    return people.map(({ subscriberId }) => {
      const outcome = outcomes.get(subscriberId);
      const reason = outcome === undefined ? 'erased' : SKIPPED[outcome];
      return reason === undefined ? onwards(outcome) : onwards(reason, 'SKIPPED');
    });
  }
}
