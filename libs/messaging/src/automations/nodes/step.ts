import type { NodeType } from '../graph/automation-graph.js';
import type { PlannedStep, VersionPlan } from './version-plan.js';

/** How a step went; the list of executions shows it. */
export type StepStatus = 'DONE' | 'SKIPPED' | 'FAILED';

/** What a step comes to for one person. */
export type StepResult =
  /** On, by this way. */
  | { readonly kind: 'go'; readonly way: string; readonly status: StepStatus; readonly detail: string | null }
  /** The step is taken, and the person goes on then. */
  | { readonly kind: 'wait'; readonly until: Date; readonly detail: string }
  /** The step cannot be taken before. */
  | { readonly kind: 'postpone'; readonly until: Date }
  /** It is taken by who calls others. */
  | { readonly kind: 'call' }
  /** The way ends here, as converted. */
  | { readonly kind: 'convert'; readonly detail: string };

export const onwards = (detail: string | null = null, status: StepStatus = 'DONE', way = ''): StepResult => ({
  kind: 'go',
  way,
  status,
  detail,
});

/** Somebody at a step. */
export interface PersonAtStep {
  readonly runId: string;
  readonly subscriberId: string;
}

export interface StepContext {
  readonly plan: VersionPlan;
  readonly now: Date;
}

/** Takes the steps of one type, for many people at once. What it does commits with their moves. */
export interface StepTaker<Type extends NodeType> {
  /** One result for each person, in the same order. */
  take(
    step: PlannedStep<Type>,
    people: readonly PersonAtStep[],
    context: StepContext,
  ): Promise<readonly StepResult[]>;
}
