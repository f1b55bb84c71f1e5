import { Inject, Injectable } from '@nestjs/common';
import { isUnavailability } from '#platform';
import { AutomationSteps, BATCH } from './automation-steps.service.js';
import { PoisonedRuns } from './poisoned-runs.service.js';
import type { DueVersion } from './runs.query.js';

/** So many people in a row who cannot go on are not to blame themselves. */
const MOST_IN_A_ROW = 3;

interface Pace {
  /** How many people the next batch has. */
  readonly people: number;
  /** How many were set aside since somebody went on. */
  readonly setAside: number;
}

const FULL: Pace = { people: BATCH, setAside: 0 };

/**
 * Takes steps in batches that are halved when one fails, until whoever makes it fail is alone and is set aside; then
 * they grow again. So one person holds up nobody else.
 */
@Injectable()
export class PacedSteps {
  readonly #paces = new Map<number, Pace>();

  constructor(
    @Inject(AutomationSteps) private readonly steps: AutomationSteps,
    @Inject(PoisonedRuns) private readonly poisoned: PoisonedRuns,
  ) {}

  /** True while there may be more to do now. Throws when nobody can go on. */
  async take({ scope, versionId }: DueVersion): Promise<boolean> {
    const pace = this.#paces.get(versionId) ?? FULL;
    if (pace.people === 1) return this.#takeAlone({ scope, versionId }, pace);
    try {
      const taken = await this.steps.takeBatch(scope, versionId, pace.people);
      this.#grow(versionId, pace);
      return taken > 0;
    } catch (error) {
      if (isUnavailability(error)) throw error;
      this.#paces.set(versionId, { ...pace, people: Math.floor(pace.people / 2) });
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
    this.#paces.set(versionId, { people: 1, setAside });
    if (setAside >= MOST_IN_A_ROW) throw error;
    return true;
  }

  #grow(versionId: number, { people }: Pace): void {
    if (people * 2 >= BATCH) this.#paces.delete(versionId);
    else this.#paces.set(versionId, { people: people * 2, setAside: 0 });
  }
}
