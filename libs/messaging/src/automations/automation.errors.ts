import { DomainError } from '#kernel';
import { ALLOWED_STATUSES, type AutomationStatus } from './automation.js';

/** A fault that keeps an automation from being activated. */
export interface AutomationCheck {
  /** `trigger`, `graph`, or the type of the step. */
  readonly code: string;
  readonly severity: 'CRITICAL';
  readonly result: 'FAIL';
  /** `nodes[3].config.duration`, `triggerType` … */
  readonly path: string;
  readonly message: string;
}

/** Content of a step that does not arrive as it was written. */
export interface AutomationWarning {
  /** `nodes[3].config.contentJson.blocks[0].html` */
  readonly path: string;
  readonly message: string;
}

/** It cannot be activated; `checks` names all that is missing or wrong. */
export class IncompleteAutomationError extends DomainError {
  override readonly code = 'invalid-state';

  constructor(
    private readonly status: AutomationStatus,
    readonly checks: readonly AutomationCheck[],
  ) {
    const [first] = checks;
    const others = checks.length > 1 ? ` (and ${checks.length - 1} more)` : '';
    super(`The automation cannot be activated: ${first?.message ?? ''}${others}`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { currentState: this.status, allowedStates: ALLOWED_STATUSES.activate, checks: this.checks };
  }
}

/** The subscriber has a run in it that its `reEntry` does not allow another one beside. */
export class AlreadyInsideError extends DomainError {
  override readonly code = 'already-exists';

  constructor() {
    super('The subscriber is or was in this automation, and its reEntry does not let them in again.');
  }
}
