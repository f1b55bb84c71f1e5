import { onwards, type PersonAtStep, type StepContext, type StepResult, type StepTaker } from './step.js';
import type { PlannedStep } from './version-plan.js';
import { delayDetail, delayEnd } from './delay-end.js';
import { splitSide } from './split-side.js';

/** Every run begins here. */
export class TriggerStep implements StepTaker<'trigger'> {
  take(_step: PlannedStep<'trigger'>, people: readonly PersonAtStep[]): Promise<readonly StepResult[]> {
    return Promise.resolve(people.map(() => onwards()));
  }
}

/** Waits for a duration, or until a time of day in a time zone. */
export class DelayStep implements StepTaker<'delay'> {
  take(
    { config }: PlannedStep<'delay'>,
    people: readonly PersonAtStep[],
    { now }: StepContext,
  ): Promise<readonly StepResult[]> {
    const until = delayEnd(config, now);
    return Promise.resolve(people.map(() => ({ kind: 'wait', until, detail: delayDetail(until) })));
  }
}

/** Takes one of two branches, by weight; the same subscriber always takes the same. */
export class SplitStep implements StepTaker<'ab_split'> {
  take(
    { id, config: { weights } }: PlannedStep<'ab_split'>,
    people: readonly PersonAtStep[],
    { plan }: StepContext,
  ): Promise<readonly StepResult[]> {
    const node = `${plan.automationId}/${id}`;
    return Promise.resolve(
      people.map(({ subscriberId }) => {
        const side = splitSide(weights, subscriberId, node);
        return onwards(side, 'DONE', side);
      }),
    );
  }
}

/** Leaves the call, which may take long and fail, to `WebhookCaller`. */
export class WebhookStep implements StepTaker<'webhook'> {
  take(_step: PlannedStep<'webhook'>, people: readonly PersonAtStep[]): Promise<readonly StepResult[]> {
    return Promise.resolve(people.map(() => ({ kind: 'call' })));
  }
}
