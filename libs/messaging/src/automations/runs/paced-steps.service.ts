import { Injectable } from '@nestjs/common';
import { isUnavailability } from '#platform';
import { AutomationSteps, BATCH } from './automation-steps.service.js';
import { PoisonedRuns } from './poisoned-runs.service.js';
import type { DueVersion } from './waiting-work.query.js';

/** When so many runs fail in a row, the fault is not theirs. */
const MOST_IN_A_ROW = 3;

interface Pace {
  /** The size of the next batch. */
  readonly runs: number;
  /** How many were set aside since a step last succeeded. */
  readonly setAside: number;
}

const FULL: Pace = { runs: BATCH, setAside: 0 };

/**
 * Takes steps in batches. A batch that fails is halved until the run that makes it fail is alone and is set aside; then
 * batches grow again. So one run holds up no others.
 */
@Injectable()
export class PacedSteps {
  readonly #paces = new Map<number, Pace>();

  constructor(
    private readonly steps: AutomationSteps,
    private readonly poisoned: PoisonedRuns,
  ) {}

  /** Resolves to whether there may be more to do now. Throws when no run succeeds. */
  async take({ scope, versionId }: DueVersion): Promise<boolean> {
    const pace = this.#paces.get(versionId) ?? FULL;
    if (pace.runs === 1) return this.#takeAlone({ scope, versionId }, pace);
    try {
      const taken = await this.steps.takeBatch(scope, versionId, pace.runs);
      this.#grow(versionId, pace);
      return taken > 0;
    } catch (error) {
      if (isUnavailability(error)) throw error;
      this.#paces.set(versionId, { ...pace, runs: Math.floor(pace.runs / 2) });
      return true;
    }
  }

  async #takeAlone({ scope, versionId }: DueVersion, pace: Pace): Promise<boolean> {
    const { run, error } = await this.steps.takeAlone(scope, versionId);
    if (error === null) {
      this.#grow(versionId, pace);
      return run !== null;
    }
    if (run === null || isUnavailability(error)) throw error;
    await this.poisoned.setAside(scope, versionId, run, error);
    const setAside = pace.setAside + 1;
    this.#paces.set(versionId, { runs: 1, setAside });
    if (setAside >= MOST_IN_A_ROW) throw error;
    return true;
  }

  #grow(versionId: number, { runs }: Pace): void {
    if (runs * 2 >= BATCH) this.#paces.delete(versionId);
    else this.#paces.set(versionId, { runs: runs * 2, setAside: 0 });
  }
}
