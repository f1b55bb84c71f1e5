import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { Database, describeError, isUnavailability, LOGGER } from '#platform';
import type { DueVersion } from './due-work.query.js';
import { holdSteps, RunRepository } from './run.repository.js';
import type { ClaimedRun, StepBatch } from './step-batch.js';
import { StepExecutorService } from './step-executor.service.js';
import { VersionPlansQuery } from './version-plans.query.js';

/** Runs per transaction: few enough to be done in a moment, enough that statements are shared. */
const BATCH = 1_000;

/** When so many runs fail in a row, the fault is not theirs. */
const MAX_IN_A_ROW = 3;

interface Pace {
  /** The size of the next batch. */
  readonly runs: number;
  /** Runs set aside since a step last succeeded. */
  readonly setAside: number;
}

const FULL: Pace = { runs: BATCH, setAside: 0 };

/**
 * Executes due steps in batches, each in one transaction: a worker that is killed leaves all of it or nothing. A batch that
 * fails is halved until the run at fault is alone and set aside; then batches grow again. So one run holds up no others.
 */
@Injectable()
export class AutomationStepsService {
  readonly #paces = new Map<number, Pace>();

  constructor(
    private readonly database: Database,
    private readonly runs: RunRepository,
    private readonly executor: StepExecutorService,
    private readonly plans: VersionPlansQuery,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Resolves to true when more may be due now. Throws when no run succeeds. */
  async execute(version: DueVersion): Promise<boolean> {
    const pace = this.#paces.get(version.versionId) ?? FULL;
    return pace.runs === 1 ? this.#executeAlone(version, pace) : this.#executeBatch(version, pace);
  }

  async #executeBatch(version: DueVersion, pace: Pace): Promise<boolean> {
    try {
      const batch = await this.#transact(version, pace.runs, async (claimed) => {
        for (const place of claimed.plan.order) await this.#executeAt(claimed, place);
      });
      this.#grow(version, pace);
      return batch !== null;
    } catch (error) {
      if (isUnavailability(error)) throw error;
      this.#paces.set(version.versionId, { ...pace, runs: Math.floor(pace.runs / 2) });
      return true;
    }
  }

  /** Executes one step of one run; a run that waits only leaves its delay. A run that fails is set aside. */
  async #executeAlone(version: DueVersion, pace: Pace): Promise<boolean> {
    let run = null as ClaimedRun | null;
    try {
      await this.#transact(version, 1, async (batch) => {
        [run = null] = batch.runs;
        if (run !== null) await this.#executeAt(batch, run.position);
        batch.park();
      });
    } catch (error) {
      if (run === null || isUnavailability(error)) throw error;
      await this.#setAside(version, run, error);
      const setAside = pace.setAside + 1;
      this.#paces.set(version.versionId, { runs: 1, setAside });
      if (setAside >= MAX_IN_A_ROW) throw error;
      return true;
    }
    this.#grow(version, pace);
    return run !== null;
  }

  /** Claims a batch, works on it and saves it. Null when nothing is due, or the automation is not ACTIVE. */
  #transact(
    { scope, versionId }: DueVersion,
    limit: number,
    work: (batch: StepBatch) => Promise<void>,
  ): Promise<StepBatch | null> {
    return this.database.transaction(scope, async () => {
      const batch = await this.runs.claim(scope, versionId, limit, this.clock.now());
      if (batch === null) return null;
      await work(batch);
      await this.runs.save(batch);
      return batch;
    });
  }

  /** Executes the step for all runs that are at it. */
  async #executeAt(batch: StepBatch, place: number): Promise<void> {
    const step = batch.plan.steps[place];
    const runs = batch.runsAt(place);
    if (step === undefined || runs.length === 0) return;
    batch.apply(place, await this.executor.executeUnlessLeaving(step, runs, batch));
  }

  #grow({ versionId }: DueVersion, { runs }: Pace): void {
    if (runs * 2 >= BATCH) this.#paces.delete(versionId);
    else this.#paces.set(versionId, { runs: runs * 2, setAside: 0 });
  }

  /** Postpones a run whose step fails; after the last try the run fails. Skips a run that has moved meanwhile. */
  async #setAside({ scope, versionId }: DueVersion, run: ClaimedRun, error: unknown): Promise<void> {
    const plan = await this.plans.of(scope, versionId);
    const reason = describeError(error);
    await this.database.transaction(scope, async () => {
      if (!(await holdSteps(this.database, plan))) return;
      const failures = await this.runs.lockDue(scope, run);
      if (failures === null) return;
      const failure = { attempts: failures + 1, reason };
      const hasFailed = await this.runs.setAside(plan, run, failure, this.clock.now());
      const { automationId } = plan;
      const fields = { automationId, run: run.id, failures: failure.attempts, hasFailed, error: reason };
      this.logger.error(fields, 'a step of an automation failed');
    });
  }
}
