import type { RunStatus, StepStatus } from '../automation.js';
import type { VersionPlan } from './version-plans.query.js';

/** A run that this worker has locked or leased. */
export interface ClaimedRun {
  readonly id: string;
  readonly subscriberId: string;
  readonly position: number;
  readonly isWaiting: boolean;
  /** `YYYY-MM-DD`, the partition of its steps. */
  readonly enteredOn: string;
}

/** The next position of a run. */
export interface RunMove {
  readonly id: string;
  readonly position: number;
  /** Null: it has ended. */
  readonly wakeAt: Date | null;
  readonly isWaiting: boolean;
  readonly isCalling: boolean;
  readonly status: RunStatus;
}

export interface TakenStep {
  readonly runId: string;
  readonly enteredOn: string;
  readonly place: number;
  readonly status: StepStatus;
  readonly detail: string | null;
}

/** The result of a step for one run. */
export type StepResult =
  /** The step is taken, and the run goes on by this branch; '' for a step without branches. */
  | {
      readonly kind: 'go';
      readonly branch: string;
      readonly status: StepStatus;
      readonly detail: string | null;
    }
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

/** Moves a number of runs until each of them waits, is to call a webhook or has ended. */
export class StepBatch {
  readonly moves: RunMove[] = [];
  readonly steps: TakenStep[] = [];
  readonly #at = new Map<number, ClaimedRun[]>();

  constructor(
    readonly plan: VersionPlan,
    readonly runs: readonly ClaimedRun[],
    readonly now: Date,
  ) {
    for (const run of runs) {
      if (run.isWaiting) this.#follow(run, run.position, '');
      else this.#arrive(run, run.position);
    }
  }

  /** The runs that are at the step now. In the order of the plan, a step is asked for once all runs have come to it. */
  runsAt(place: number): readonly ClaimedRun[] {
    return this.#at.get(place) ?? [];
  }

  /** Moves the runs that were at the step; the results are in their order. */
  apply(place: number, results: readonly StepResult[]): void {
    const runs = this.runsAt(place);
    this.#at.delete(place);
    for (const [index, run] of runs.entries()) {
      const result = results[index];
      if (result === undefined) throw new Error('A step has no result for a run.');
      this.#applyOne(run, place, result);
    }
  }

  /** Leaves all other runs at their step, due at once. */
  park(): void {
    for (const [place, runs] of this.#at)
      for (const run of runs) this.#stay(run, place, { wakeAt: this.now });
    this.#at.clear();
  }

  #applyOne(run: ClaimedRun, place: number, result: StepResult): void {
    switch (result.kind) {
      case 'go':
        this.#log(run, place, result.status, result.detail);
        return this.#follow(run, place, result.branch);
      case 'wait':
        this.#log(run, place, 'DONE', result.detail);
        return this.#stay(run, place, { wakeAt: result.until, isWaiting: true });
      case 'postpone':
        return this.#stay(run, place, { wakeAt: result.until });
      case 'call':
        return this.#stay(run, place, { wakeAt: this.now, isCalling: true });
      case 'convert':
        this.#log(run, place, 'DONE', result.detail);
        return this.#stay(run, place, { wakeAt: null, status: 'CONVERTED' });
    }
  }

  #follow(run: ClaimedRun, place: number, branch: string): void {
    const next = this.plan.steps[place]?.next.get(branch);
    if (next === undefined) this.#stay(run, place, { wakeAt: null, status: 'COMPLETED' });
    else this.#arrive(run, next);
  }

  #arrive(run: ClaimedRun, place: number): void {
    const there = this.#at.get(place);
    if (there === undefined) this.#at.set(place, [run]);
    else there.push(run);
  }

  #stay({ id }: ClaimedRun, position: number, where: Partial<RunMove> & Pick<RunMove, 'wakeAt'>): void {
    this.moves.push({ id, position, isWaiting: false, isCalling: false, status: 'ACTIVE', ...where });
  }

  #log({ id, enteredOn }: ClaimedRun, place: number, status: StepStatus, detail: string | null): void {
    this.steps.push({ runId: id, enteredOn, place, status, detail });
  }
}
