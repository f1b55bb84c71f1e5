import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { StepTakers } from '../nodes/step-takers.service.js';
import type { ClaimedRun, StepBatch } from './step-batch.js';
import { StepBatches } from './step-batches.service.js';

/** Runs per transaction: few enough to be done in a moment, enough that statements are shared. */
export const BATCH = 1_000;

/** The outcome of one step of one run; `run` is null when none is due. */
export interface AloneStep {
  readonly run: ClaimedRun | null;
  readonly error: unknown;
}

/**
 * Takes the steps of runs that are due. One transaction locks a batch of runs, does what their steps do, moves them and
 * logs the steps: a worker that is killed leaves all of it or nothing.
 */
@Injectable()
export class AutomationSteps {
  constructor(
    private readonly database: Database,
    private readonly batches: StepBatches,
    private readonly takers: StepTakers,
    private readonly clock: Clock,
  ) {}

  /** Takes a batch of runs as far as they go; resolves to their number. Takes none while the automation is not ACTIVE. */
  async takeBatch(scope: ProjectScope, versionId: number, limit = BATCH): Promise<number> {
    return this.database.transaction(scope, async () => {
      const batch = await this.batches.claim(scope, versionId, limit, this.clock.now());
      if (batch === null) return 0;
      for (const place of batch.plan.order) await this.#takeAt(batch, place);
      await this.batches.save(batch);
      return batch.runs.length;
    });
  }

  /** Takes one step of one run; one that has waited only leaves the delay. `error` is null when that succeeds. */
  async takeAlone(scope: ProjectScope, versionId: number): Promise<AloneStep> {
    let run: ClaimedRun | null = null;
    try {
      await this.database.transaction(scope, async () => {
        const batch = await this.batches.claim(scope, versionId, 1, this.clock.now());
        [run = null] = batch?.runs ?? [];
        if (batch === null || run === null) return;
        if (!run.isWaiting) await this.#takeAt(batch, run.position);
        batch.park();
        await this.batches.save(batch);
      });
      return { run, error: null };
    } catch (error) {
      return { run, error };
    }
  }

  /** Takes the step of all runs that are at it. */
  async #takeAt(batch: StepBatch, place: number): Promise<void> {
    const { plan, now } = batch;
    const step = plan.steps[place];
    const runs = batch.runsAt(place);
    if (step === undefined || runs.length === 0) return;
    const people = runs.map(({ id, subscriberId }) => ({ runId: id, subscriberId }));
    batch.apply(place, await this.takers.take(step, people, { plan, now }));
  }
}
