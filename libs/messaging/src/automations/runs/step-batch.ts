import type { RunStatus, StepStatus } from '../automation.js';
import type { VersionPlan } from './version-plans.query.js';

/** A run that this worker has locked or leased. */
export interface ClaimedRun {
  readonly id: string;
  readonly subscriberId: string;
  readonly position: number;
  readonly isWaiting: boolean;
  /** True once the event or the state that it waits for is there. */
  readonly hasHappened: boolean;
  /** `YYYY-MM-DD`, the partition of its steps. */
  readonly enteredOn: string;
  /** When there was something to do for it again; left out where that is not known. */
  readonly dueAt?: Date;
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

/** The outcome of a step that was logged when it was begun. */
export interface StepOutcome extends Pick<TakenStep, 'runId' | 'enteredOn' | 'place'> {
  readonly detail: string;
}

/** Runs that came to the node of a step, and that went on from it or ended at it. */
export interface NodeTraffic {
  readonly place: number;
  readonly entered: number;
  readonly departed: number;
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
  /** The wait at this step is over, and the run goes on by this branch. */
  | { readonly kind: 'resume'; readonly branch: string }
  /** The step is tried again at this time. */
  | { readonly kind: 'postpone'; readonly until: Date }
  /** `WebhookCaller` takes the step. */
  | { readonly kind: 'call' }
  /** The step is not taken, and the run ends as CANCELLED. */
  | { readonly kind: 'exit'; readonly detail: string }
  /** The step is taken, and the run ends as CONVERTED. */
  | { readonly kind: 'convert'; readonly detail: string };

export function onwards(detail: string | null = null, status: StepStatus = 'DONE', branch = ''): StepResult {
  return { kind: 'go', branch, status, detail };
}

/** True for a run that waited at this step when it was claimed. */
export function isBack({ isWaiting, position }: ClaimedRun, place: number): boolean {
  return isWaiting && position === place;
}

/** When the run came to this step, if it was there, or in a delay before, when it was claimed; null: now. */
export function cameAt(run: ClaimedRun, place: number, { steps }: VersionPlan): Date | null {
  const step = steps[run.position];
  const isBehindDelay = run.isWaiting && step?.type === 'delay' && step.next.get('') === place;
  const isThere = !run.isWaiting && run.position === place;
  return isThere || isBehindDelay ? (run.dueAt ?? null) : null;
}

/** Moves a number of runs until each of them waits, is to call a webhook or has ended. */
export class StepBatch {
  readonly moves: RunMove[] = [];
  readonly steps: TakenStep[] = [];
  readonly outcomes: StepOutcome[] = [];
  readonly #at = new Map<number, ClaimedRun[]>();
  readonly #traffic = new Map<number, NodeTraffic>();

  constructor(
    readonly plan: VersionPlan,
    readonly runs: readonly ClaimedRun[],
    readonly now: Date,
  ) {
    for (const run of runs) {
      const isDelayed = run.isWaiting && plan.steps[run.position]?.type !== 'wait_for';
      if (isDelayed) this.#follow(run, run.position, '');
      else this.#arrive(run, run.position);
    }
  }

  get traffic(): readonly NodeTraffic[] {
    return [...this.#traffic.values()];
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
      case 'resume':
        this.outcomes.push({ runId: run.id, enteredOn: run.enteredOn, place, detail: result.branch });
        return this.#follow(run, place, result.branch);
      case 'postpone':
        return this.#stay(run, place, { wakeAt: result.until });
      case 'call':
        return this.#stay(run, place, { wakeAt: this.now, isCalling: true });
      case 'exit':
        this.#log(run, place, 'SKIPPED', result.detail);
        return this.#stay(run, place, { wakeAt: null, status: 'CANCELLED' });
      case 'convert':
        this.#log(run, place, 'DONE', result.detail);
        return this.#stay(run, place, { wakeAt: null, status: 'CONVERTED' });
    }
  }

  #follow(run: ClaimedRun, place: number, branch: string): void {
    const next = this.plan.steps[place]?.next.get(branch);
    if (next === undefined) return this.#stay(run, place, { wakeAt: null, status: 'COMPLETED' });
    this.#count(place, { departed: 1 });
    this.#count(next, { entered: 1 });
    this.#arrive(run, next);
  }

  #arrive(run: ClaimedRun, place: number): void {
    const there = this.#at.get(place);
    if (there === undefined) this.#at.set(place, [run]);
    else there.push(run);
  }

  #stay({ id }: ClaimedRun, position: number, where: Partial<RunMove> & Pick<RunMove, 'wakeAt'>): void {
    this.moves.push({ id, position, isWaiting: false, isCalling: false, status: 'ACTIVE', ...where });
    if (where.wakeAt === null) this.#count(position, { departed: 1 });
  }

  #count(place: number, { entered = 0, departed = 0 }: Partial<NodeTraffic>): void {
    const before = this.#traffic.get(place) ?? { entered: 0, departed: 0 };
    this.#traffic.set(place, {
      place,
      entered: before.entered + entered,
      departed: before.departed + departed,
    });
  }

  #log({ id, enteredOn }: ClaimedRun, place: number, status: StepStatus, detail: string | null): void {
    this.steps.push({ runId: id, enteredOn, place, status, detail });
  }
}
