import type { NodeType } from '../graph/automation-graph.js';
import type { PlannedStep, VersionPlan } from './version-plan.js';

export type StepStatus = 'DONE' | 'SKIPPED' | 'FAILED';

/** As executions show it. */
interface StepOutcome {
  readonly status: StepStatus;
  readonly detail: string | null;
}

/** The result of a step for one run. */
export type StepResult =
  /** The step is taken, and the run goes on by this branch; '' for a step without branches. */
  | ({ readonly kind: 'go'; readonly branch: string } & StepOutcome)
  /** The step is taken, and the run goes on at this time. */
  | { readonly kind: 'wait'; readonly until: Date; readonly detail: string }
  /** The step is tried again at this time. */
  | { readonly kind: 'postpone'; readonly until: Date }
  /** `WebhookCaller` takes the step. */
  | { readonly kind: 'call' }
  /** The step is taken, and the run ends as CONVERTED. */
  | { readonly kind: 'convert'; readonly detail: string };

export function onwards(detail: string | null = null, status: StepStatus = 'DONE', branch = ''): StepResult {
  return { kind: 'go', branch, status, detail };
}

/** A run that is at the step. */
export interface PersonAtStep {
  readonly runId: string;
  readonly subscriberId: string;
}

export interface StepContext {
  readonly plan: VersionPlan;
  readonly now: Date;
}

/** Takes the steps of one type for a batch of runs. What it does commits with their moves. */
export interface StepTaker<Type extends NodeType> {
  /** One result for each run, in the same order. */
  take(
    step: PlannedStep<Type>,
    people: readonly PersonAtStep[],
    context: StepContext,
  ): Promise<readonly StepResult[]>;
}
